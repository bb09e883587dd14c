// SPDX-License-Identifier: Apache-2.0
// ChangeIndex knows which things clients are told of (jobs, nodes, ...) have changed since when, so that a client that
// asks again and again is told only what is new. It has versions and no contents: whoever answers reads the contents
// as they are then.
//
// Versions are given when somebody asks, so that a thing which changes a thousand times between two questions costs a
// thousand insertions into a set and one version. A client keeps a cursor: what it was told up to, and from which
// version on a removal concerns it. Removals are kept, at most `most_gone` of them; a client whose cursor is older than
// one that was dropped, or of another life of the master, begins anew.
//
// What a client that applies all answers knows is what there is, however often it asks, in however small pieces, and
// whatever happens in between (change_index_test.cc). Pure. Thread rule: the control thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace millrace::master {

class ChangeIndex {
 public:
  enum class Kind : std::uint8_t { kJob, kNode, kWaits, kScheduler };
  struct Thing {
    Kind kind = Kind::kJob;
    std::uint32_t number = 0;
    auto operator<=>(const Thing&) const = default;
  };

  // How far a client has come. To the client it is opaque.
  struct Cursor {
    std::uint64_t life = 0;     // of the master's process
    std::uint64_t version = 0;  // the client was told of all changes up to this one; 0: of nothing
    std::uint64_t floor = 0;    // what was removed up to this version was never told to it
    bool operator==(const Cursor&) const = default;
  };
  struct Answer {
    Cursor up_to;
    bool anew = false;  // the client is to forget all that it knows before it applies this
    bool more = false;  // there is more to tell
  };

  static constexpr std::size_t kMostGone = 10'000;

  // `life` differs from that of every earlier process of the master. Requires: it is not 0.
  explicit ChangeIndex(std::uint64_t life = 1, std::size_t most_gone = kMostGone)
      : life_(life), most_gone_(most_gone) {}

  // Requires: nobody has asked yet.
  void SetLife(std::uint64_t life) { life_ = life; }
  // Says that the thing is new or has changed. O(log things)
  void Mark(const Thing& thing);
  // Says that there is no such thing any more. Nothing happens if there was none.
  void Remove(const Thing& thing);

  // Calls `take(thing, gone)` for what has changed since the cursor, what changed first before what changed later,
  // until `take` returns false, which it does of a thing that the answer has no room for. Requires: `take` takes the
  // first.
  Answer Tell(const Cursor& since, const std::function<bool(const Thing& thing, bool gone)>& take);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }  // things and removals that are kept

 private:
  struct Entry {
    std::uint64_t version = 0;  // 0: it changed after the last question
    bool gone = false;
  };
  void Change(const Thing& thing, Entry& entry, bool gone);
  void Settle();

  std::uint64_t life_;
  const std::size_t most_gone_;
  std::map<Thing, Entry> entries_;
  std::map<std::uint64_t, Thing> by_version_;
  std::set<Thing> fresh_;                // those without a version
  std::map<std::uint64_t, Thing> gone_;  // of by_version_: the removals
  std::uint64_t last_ = 0;               // the version that was given last
  std::uint64_t dropped_ = 0;            // that of the last removal that was dropped
};

}  // namespace millrace::master
