// SPDX-License-Identifier: Apache-2.0
// EventQueue: the coming happenings, ordered by time, then by order of addition. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::sim {

enum class Happening : std::uint8_t {
  kSubmit,    // job `what`
  kNodeLost,  // node `what`
  kNodeBack,  // node `what`
  kAttempt,   // the timer of the attempt in slot `what`
  kLatency,   // the timer of the attempt in slot `what`, which does nothing yet
  kProgress,  // the attempt in slot `what` may have made progress
  kCores,     // work may have ended on machine `what`; `generation` is that of the machine (processors.h)
  kSample,
  kScheduler,  // change `what` of SimOptions::changes
  kAnswer,     // the program that the policy asks has thought
};

// Returns true if the happening may occur without any progress of its attempt.
constexpr bool IsEmpty(Happening kind) { return kind == Happening::kLatency || kind == Happening::kProgress; }

struct TimedHappening {
  Micros at = 0;
  std::uint64_t order = 0;
  std::uint32_t what = 0;
  std::uint32_t generation = 0;  // of the slot: an entry of an older generation is void
  Happening kind = Happening::kSample;
  bool operator>(const TimedHappening& other) const { return at != other.at ? at > other.at : order > other.order; }
};

class EventQueue {
 public:
  void Add(Micros at, Happening kind, std::uint32_t what = 0, std::uint32_t generation = 0) {
    happenings_.push({at, next_++, what, generation, kind});
    Count(kind, 1);
  }
  [[nodiscard]] bool empty() const { return happenings_.empty(); }
  // idle() returns true if the queue has only samples and empty happenings (IsEmpty). empty_happenings() returns the
  // number of empty happenings.
  [[nodiscard]] bool idle() const { return happenings_.size() == samples_ + empty_; }
  [[nodiscard]] std::size_t empty_happenings() const { return empty_; }
  [[nodiscard]] const TimedHappening& first() const { return happenings_.top(); }
  TimedHappening Pop() {
    const TimedHappening first = happenings_.top();
    happenings_.pop();
    Count(first.kind, -1);
    return first;
  }

 private:
  void Count(Happening kind, int by) {
    if (kind == Happening::kSample) samples_ += static_cast<std::size_t>(by);
    if (IsEmpty(kind)) empty_ += static_cast<std::size_t>(by);
  }

  std::priority_queue<TimedHappening, std::vector<TimedHappening>, std::greater<>> happenings_;
  std::size_t samples_ = 0, empty_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace millrace::sim
