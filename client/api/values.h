// Values<V>: the values of one key, as Reduce sees them: for (V value : values) ...
// They can be passed over only once; Reduce may stop early. A std::string_view among them lives until the next one is
// taken. Those of a group (group.h) have keys of their own: values.key() is the key of the current value.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "client/format/value_bytes.h"
#include "worker/task/run/groups.h"

namespace millrace {

// `Records` is what gives the bytes of the values.
template <class V, class Records = reduce::Groups>
class Values {
 public:
  explicit Values(Records& records) : records_(records) {}

  class Iterator {
   public:
    using value_type = V;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Values& values) : values_(&values) {}
    const V& operator*() const { return values_->value_; }
    Iterator& operator++() {
      values_->Advance();
      return *this;
    }
    void operator++(int) { values_->Advance(); }
    bool operator==(std::default_sentinel_t) const { return !values_->more_; }

   private:
    Values* values_;
  };

  Iterator begin() {
    Advance();
    return Iterator(*this);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }
  // Returns the key of the current value, in a job with Group. It lives until the next one is taken.
  template <class R = Records>
  [[nodiscard]] const auto& key() const {
    constexpr bool kGroups = requires(const R& records) { records.first(); };
    static_assert(kGroups,
                  "values.key() is of a job with Group: without one, the key of all values is what Reduce is given");
    if constexpr (kGroups) {
      return records_.key();
    } else {
      return value_;
    }
  }
  // Returns false after bytes that are not a V; such bytes end the values.
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void Advance() {
    std::string_view bytes;
    more_ = ok_ && records_.NextValue(&bytes);
    if (more_ && !internal::ValueBytes<V>::Decode(bytes, &value_)) more_ = ok_ = false;
  }

  Records& records_;
  V value_{};
  bool more_ = false;
  bool ok_ = true;
};

}  // namespace millrace
