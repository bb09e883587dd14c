// SPDX-License-Identifier: Apache-2.0
// Values<V> are the values of one key, over which Reduce iterates: `for (V value : values)`. Reduce can iterate over
// them only once, and may stop early; a second begin() is a fault. A value that is a std::string_view lives until the
// next one is taken (client/job/lent_views.h). The values of a group (group.h) have keys of their own: values.key() is
// the key of the current value. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "client/api/lending.h"
#include "client/format/value_bytes.h"
#include "client/job/lent_views.h"
#include "worker/task/run/groups.h"

namespace millrace {

// A fault of the values, or of the way in which Reduce took them.
enum class ValuesFault : std::uint8_t {
  kNone,
  kBadBytes,    // the values ended at bytes that do not decode
  kBegunAgain,  // begin() was called again, and gave no values
};

// `Records` supplies the bytes of the values.
template <class V, class Records = reduce::Groups>
class Values {
 public:
  // Requires: `records` and `lent` outlive this.
  Values(Records& records, LentViews& lent) : records_(records), lent_(lent) {}
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

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
    if (begun_) {
      more_ = false;
      fault_ = ValuesFault::kBegunAgain;
    } else {
      begun_ = true;
      Advance();
    }
    return Iterator(*this);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }
  // Returns the key of the current value, in a job with Group. The key lives until the next value is taken.
  template <class R = Records>
  [[nodiscard]] const auto& key() const {
    constexpr bool kGroups = requires(const R& records) { records.first(); };
    static_assert(kGroups,
                  "values.key() is for a job with Group: without one, all values have the key that Reduce is given");
    if constexpr (kGroups) {
      return records_.key();
    } else {
      return value_;
    }
  }
  [[nodiscard]] ValuesFault fault() const { return fault_; }

 private:
  void Advance() {
    std::string_view bytes;
    more_ = records_.NextValue(&bytes);
    if (!more_) {
      if constexpr (internal::kMayBeView<V>) lent_.Recall();
      return;
    }
    if (internal::ValueBytes<V>::Decode(internal::LendBytes<V>(lent_, bytes), &value_)) return;
    more_ = false;
    fault_ = ValuesFault::kBadBytes;
  }

  Records& records_;
  LentViews& lent_;
  V value_{};
  bool begun_ = false;
  bool more_ = false;
  ValuesFault fault_ = ValuesFault::kNone;
};

}  // namespace millrace
