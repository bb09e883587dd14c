// GroupPlace knows the key that a reduce is processing, for the message of a failure. A guard (Watch) beside the loop
// over the groups links the place to them, so that a group costs nothing.
// Thread rule: the task's thread; Write also in a signal handler.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>

#include "client/job/key_text.h"
#include "worker/task/run/groups.h"

namespace millrace {

class GroupPlace {
 public:
  // While a Watch lives, the place follows its groups. If user code throws meanwhile, the place keeps the key.
  template <class Key>
  class Watch {
   public:
    Watch(GroupPlace& place, const reduce::Groups& groups) : place_(place) {
      place_.write_ = &WriteKey<Key>;
      place_.groups_ = &groups;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
      if (std::uncaught_exceptions() > thrown_before_) place_.Keep();
      place_.groups_ = nullptr;
    }

   private:
    GroupPlace& place_;
    const int thrown_before_ = std::uncaught_exceptions();
  };

  // Writes the key of the group that is being reduced, or that was being reduced when user code threw. Writes nothing
  // if there is no such group. Returns the number of bytes written.
  [[nodiscard]] std::size_t Write(std::span<char> out) const {
    if (groups_ != nullptr) return groups_->groups() == 0 ? 0 : write_(groups_->key(), out);
    const std::string_view kept(kept_.data(), kept_size_);
    const std::size_t size = kept.copy(out.data(), out.size());
    return size;
  }

 private:
  void Keep() { kept_size_ = Write(kept_); }

  const reduce::Groups* groups_ = nullptr;  // null while none are watched
  std::size_t (*write_)(std::string_view, std::span<char>) = nullptr;
  std::array<char, 400> kept_{};
  std::size_t kept_size_ = 0;
};

}  // namespace millrace
