// SPDX-License-Identifier: Apache-2.0
// The hook Group sends records of several keys to one call of Reduce, as a secondary sort needs. The map's records are
// partitioned and grouped by a part of the key, and sorted by all of it:
//
//   using Key = std::pair<std::string, std::uint64_t>;                    // user and time
//   static const std::string& Group(const Key& key) { return key.first; }  // one call of Reduce per user
//   void Reduce(const Key& first, auto& values, auto& emit);               // in order of time: values.key().second
//
// A group is all keys for which Group's result has the same bytes, as its Codec writes them. The keys of a group have
// to be consecutive when sorted, as they are if Group returns the beginning of the key. The reduce fails if a group
// comes back after another one.
// Thread rule: any thread, but a Grouping is used by one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>

#include "base/status.h"
#include "client/api/lending.h"
#include "client/format/codec.h"
#include "client/format/compound_codec.h"
#include "worker/task/run/groups.h"

namespace millrace::internal {

// GroupWatch notices a group of keys that comes back after others, since its records would go to several calls of
// Reduce. It remembers a sample of the groups by their hashes: all groups while there are few, and then every second,
// fourth and so on by hash, as in distinct sampling (P. B. Gibbons, "Distinct Sampling for Highly-Accurate Answers to
// Distinct Values Queries", VLDB 2001). So any number of groups costs the same memory. Every group that it reports has
// come back. It may miss others, but if one group comes back, mostly many do, and one in the sample is enough.
// Thread rule: one thread.
class GroupWatch {
 public:
  // `most` is the largest number of groups that are remembered.
  explicit GroupWatch(std::size_t most = 8192) : most_(most) {}

  // Notes that a group begins. Returns false if the group came before; status() is then a failure.
  bool Begin(std::string_view group);
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t groups() const { return groups_; }  // begun so far

 private:
  const std::size_t most_;
  std::unordered_set<std::uint64_t> seen_;  // hashes whose bits in mask_ are 0
  std::uint64_t mask_ = 0;
  std::uint64_t groups_ = 0;
  Status status_;
};

// Arguments convert, but the address of a function does not. So a Group that takes a copy of the key, and might return
// a view of the copy, does not match.
template <class J, class Argument, class Result>
concept GroupsAs = requires {
  static_cast<Result (*)(Argument)>(&J::Group);
};
template <class J, class Key = typename J::Key>
concept HasGroup = requires(const Key& key) {
  requires Encodable<std::remove_cvref_t<decltype(J::Group(key))>>;
  requires GroupsAs<J, const Key&, decltype(J::Group(key))> ||
      (std::is_trivially_copyable_v<Key> && GroupsAs<J, Key, decltype(J::Group(key))>);
};

// Calls `use` with the bytes of the key's group, which live for the call. Returns the result of `use`.
template <HasGroup J, class Use>
decltype(auto) UseGroup(const typename J::Key& key, std::string* scratch, Use use) {
  const auto& group = J::Group(key);
  return use(Codec<std::remove_cvref_t<decltype(group)>>::Encode(group, scratch));
}

// Iterates over the records of a reduce by groups of keys. It has the calls of reduce::Groups.
template <HasGroup J>
class Grouping {
 public:
  using Key = typename J::Key;
  // `lent_first` lends the first key of a group, and `lent` the key of a value. Requires: the arguments outlive this.
  Grouping(reduce::Groups& keys, LentViews& lent_first, LentViews& lent)
      : keys_(keys), lent_first_(lent_first), lent_(lent) {}

  // Goes to the next group. Returns false at the end or on a failure (ask status() and decodes()).
  bool NextGroup() {
    while (!ended_ && !begins_) NextKey();
    if (ended_ || !watch_.Begin(group_)) return false;
    begins_ = false;
    first_bytes_.assign(keys_.key());
    decodes_ = Codec<Key>::Decode(LendBytes<Key>(lent_first_, first_bytes_), &first_);
    return decodes_;
  }
  // Returns the first key of the group; it lives until the next NextGroup.
  [[nodiscard]] const Key& first() const { return first_; }
  // Returns the key of the value that NextValue gave; it lives until the next call.
  [[nodiscard]] const Key& key() const { return key_; }
  bool NextValue(std::string_view* value) {
    while (!begins_ && !ended_) {
      if (keys_.NextValue(value)) return true;
      NextKey();
    }
    return false;
  }
  // Returns false if the bytes of a key did not decode.
  [[nodiscard]] bool decodes() const { return decodes_; }
  [[nodiscard]] Status status() const {
    MILLRACE_TRY(keys_.status());
    return watch_.status();
  }
  [[nodiscard]] std::uint64_t groups() const { return watch_.groups(); }
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const { return keys_.raw_bytes_consumed(); }

 private:
  // Goes to the next key, which may be the first one of the next group.
  void NextKey() {
    const bool first = keys_.groups() == 0;
    if (!keys_.NextGroup()) {
      ended_ = true;
      return;
    }
    decodes_ = Codec<Key>::Decode(LendBytes<Key>(lent_, keys_.key()), &key_);
    ended_ = !decodes_;
    if (ended_) return;
    UseGroup<J>(key_, &scratch_, [&](std::string_view group) {
      begins_ = first || group != group_;
      if (begins_) group_.assign(group);
    });
  }

  reduce::Groups& keys_;
  LentViews &lent_first_, &lent_;
  GroupWatch watch_;
  Key key_{}, first_{};
  std::string first_bytes_, group_, scratch_;  // the keys may be views of bytes
  bool begins_ = false;                        // keys_ is at the first key of a group that NextGroup has yet to return
  bool ended_ = false;
  bool decodes_ = true;
};

}  // namespace millrace::internal
