// SPDX-License-Identifier: Apache-2.0
// FetchSchedule holds the state of a copy phase: for each map the place of its output, and whether the output waits, is
// being fetched, rests after a failure, is here or is left out. It chooses the worker to ask next, and the maps to ask
// for. It has no I/O and no clock of its own. Workers take turns; different reduces begin with different workers. After
// its n-th failure an output rests for first_back_off * 2^(n-1), at most kLongestBackOff. After `retries` failures the
// output is doubted: that must be reported to the master, now and after each later failure, and the output rests
// kDoubtedRests times as long. An output is never given up, since the reports must continue even if only one reduce
// waits for it. Thread rule: one thread (or strand) at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "worker/daemon/shuffle/reduce_copy.h"

namespace millrace::shuffle {

inline constexpr Micros kLongestBackOff = 30 * kSecond;
inline constexpr int kDoubtedRests = 4;

// The address at which a worker's bulk server listens.
struct FetchPlace {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const FetchPlace&) const = default;
};

// One try to fetch one output. It becomes stale when the map is announced again or withdrawn.
struct Ticket {
  AttemptId map;
  std::uint64_t number = 0;
};

class FetchSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  FetchSchedule(std::uint32_t partition, std::uint32_t maps, unsigned retries, Micros first_back_off);

  // Takes in the place of a map's output. Returns false if there is nothing to do: the map is copied, is left out or is
  // out of range, or it already waits, rests or is being fetched with this very source. If it returns true for a local
  // source, the caller looks that source up; other sources wait for NextBatch.
  bool Announce(const Source& source);
  void Withdraw(const AttemptId& attempt);  // its output is no longer asked for
  // Drops this map for now and later, unless it is copied already. Its tickets become stale.
  void LeaveOut(std::uint32_t map);

  // Ends the rest of outputs whose rest is over. Returns the local ones, which the caller looks up as after Announce.
  [[nodiscard]] std::vector<Source> Wake(Time now);
  [[nodiscard]] std::optional<Time> next_wake() const;

  // Returns a place that has wanted outputs and no connection. The place counts as connected from now on, until Leave.
  [[nodiscard]] std::optional<FetchPlace> VisitNext();
  void Leave(const FetchPlace& place);
  // Returns true if any output at `place` waits or is being fetched.
  [[nodiscard]] bool Wants(const FetchPlace& place) const;
  // Returns up to `most` outputs to be fetched from `place`, all of one job.
  [[nodiscard]] std::vector<Ticket> NextBatch(const FetchPlace& place, std::size_t most);

  // The next calls report how a try ended. A stale ticket changes nothing.
  void PutBack(const Ticket& ticket);  // the output was not tried
  // Notes a failed try. Returns true if it must be reported to the master. `for_good` says that asking again soon would
  // give the same result.
  bool Fail(const Ticket& ticket, bool for_good, Time now);
  // Does what Fail does, for a local source that does not exist.
  bool Miss(const AttemptId& attempt, Time now);
  // Keeps the segment, and makes tickets of the map stale. Returns false if the map was copied already, or is left out.
  bool Keep(CopiedSegment segment);

  [[nodiscard]] std::uint32_t copied() const { return copied_; }
  [[nodiscard]] bool complete() const { return copied_ + left_out_ == outputs_.size(); }
  [[nodiscard]] std::vector<CopiedSegment>
  TakeSegments();  // in the order of the maps; requires: the schedule is complete

 private:
  enum class OutputState { kUnknown, kWaiting, kFetching, kResting, kDoubted, kCopied, kLeftOut };
  struct Output {
    OutputState state = OutputState::kUnknown;
    Source source;
    unsigned failures = 0;
    std::uint64_t ticket = 0;
    Time rest_until;
    CopiedSegment segment;
  };
  struct Queue {
    std::deque<std::uint32_t> maps;  // some may have stopped waiting: see Drop
    bool visited = false;
  };

  static bool IsOver(const Output& output) {
    return output.state == OutputState::kCopied || output.state == OutputState::kLeftOut;
  }
  Output* Find(const Ticket& ticket);  // nullptr if stale
  void Rest(Output& output, OutputState state, Time now);
  void Wait(Output& output);
  [[nodiscard]] bool Waits(std::uint32_t map, const FetchPlace& place) const;
  void Drop(const FetchPlace& place, Queue& queue);  // removes maps that no longer wait from the front of the queue

  const std::uint32_t partition_;
  const unsigned retries_;
  const Micros first_back_off_;
  std::vector<Output> outputs_;
  std::map<FetchPlace, Queue> queues_;
  std::optional<FetchPlace> last_;  // the place visited last
  std::multimap<Time, std::uint32_t> resting_;
  std::uint64_t tickets_ = 0;
  std::uint32_t copied_ = 0, left_out_ = 0;
};

}  // namespace millrace::shuffle
