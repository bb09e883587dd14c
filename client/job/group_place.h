// SPDX-License-Identifier: Apache-2.0
// GroupPlace knows the key that a reduce is processing, for the message of a failure. A guard (Watch) beside the loop
// over the groups links the place to them, so that a group costs nothing.
// Thread rule: the task's thread; Write also in a signal handler.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <type_traits>

#include "client/format/codec.h"
#include "worker/task/run/groups.h"

namespace millrace {

// ---- keys as text for people, without allocating memory, so that a signal handler can write them ----

// Writes the bytes in quotes, with \xNN for those that are not printable ASCII, as far as there is room. If only the
// first bytes are shown, "..." follows. Returns the number of bytes written.
[[nodiscard]] std::size_t WriteQuoted(std::string_view bytes, std::span<char> out);

// Writes a key of this type, given by its encoded bytes: a number as a number, anything else in quotes.
template <class Key>
[[nodiscard]] std::size_t WriteKey(std::string_view bytes, std::span<char> out) {
  if constexpr (std::integral<Key> && !std::same_as<Key, bool>) {
    Key key{};
    if (out.size() >= 24 && Codec<Key>::Decode(bytes, &key))
      return static_cast<std::size_t>(std::to_chars(out.data(), out.data() + out.size(), key).ptr - out.data());
  }
  return WriteQuoted(bytes, out);
}

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
