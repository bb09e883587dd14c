// FetchSchedule: what a copy phase knows: for each map where its output is, and whether the output waits, is being
// fetched, rests after a failure, is here or is left out; and which worker is to be asked next for which maps. It has
// no I/O and no clock of its own. Workers take turns; reduces begin at different ones. After its n-th failure an output
// rests for first_back_off * 2^(n-1), kLongestBackOff at most. After `retries` failures it is doubted: the master is to
// be told, now and after each later failure, and it rests kDoubtedRests times as long. It is never given up, since a
// reduce that is the only one to wait has to be heard. Thread rule: one thread (or strand) at a time.
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

// Where a worker's bulk server listens.
struct FetchPlace {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const FetchPlace&) const = default;
};

// One try to fetch one output. It becomes stale when the map is announced anew or withdrawn.
struct Ticket {
  AttemptId map;
  std::uint64_t number = 0;
};

class FetchSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  FetchSchedule(std::uint32_t partition, std::uint32_t maps, unsigned retries, Micros first_back_off);

  // Takes in where a map's output is. Returns false if there is nothing to do, since the map is copied or left out, or
  // waits or is under way with this very source, or is out of range. If it returns true for a local source the caller
  // looks that up; other sources wait for NextBatch.
  bool Announce(const Source& source);
  void Withdraw(const AttemptId& attempt);  // its output is not asked for any more
  // Makes nothing wanted of this map, now or later, if it is not copied already. Tickets of it become stale.
  void LeaveOut(std::uint32_t map);

  // Ends the rest of outputs whose time has come. Returns the local ones, which the caller looks up as after Announce.
  [[nodiscard]] std::vector<Source> Wake(Time now);
  [[nodiscard]] std::optional<Time> next_wake() const;

  // Returns a place that has wanted outputs and no connection; from now on it counts as connected, until Leave.
  [[nodiscard]] std::optional<FetchPlace> VisitNext();
  void Leave(const FetchPlace& place);
  // Returns whether any output at `place` waits or is being fetched.
  [[nodiscard]] bool Wants(const FetchPlace& place) const;
  // Returns up to `most` outputs to be fetched from `place`, all of one job.
  [[nodiscard]] std::vector<Ticket> NextBatch(const FetchPlace& place, std::size_t most);

  // The next calls say how a try ended. A stale ticket changes nothing.
  void PutBack(const Ticket& ticket);  // it was not tried
  // The try failed. Returns true if the master is to be told. `for_good`: asking again soon gives the same.
  bool Fail(const Ticket& ticket, bool for_good, Time now);
  // Does the same for a local source that is not there.
  bool Miss(const AttemptId& attempt, Time now);
  // Keeps the segment. Returns false if the map was copied already, or is left out. Tickets of the map become stale.
  bool Keep(CopiedSegment segment);

  [[nodiscard]] std::uint32_t copied() const { return copied_; }
  [[nodiscard]] bool complete() const { return copied_ + left_out_ == outputs_.size(); }
  [[nodiscard]] std::vector<CopiedSegment> TakeSegments();  // requires: the schedule is complete; by map

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
  void Drop(const FetchPlace& place, Queue& queue);  // removes what waits no more from the queue's front

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
