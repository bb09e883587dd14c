// EventQueue: what will happen when, in a total order: by time, then in the order in which it was added.
// Thread rule: one thread.
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
  kProgress,  // the attempt in slot `what` may have news of its progress
  kCores,     // work may have ended on machine `what`; `generation` is that of the machine (processors.h)
  kSample,
};

struct TimedHappening {
  Micros at = 0;
  std::uint64_t order = 0;
  std::uint32_t what = 0;
  std::uint32_t generation = 0;  // of the slot: an entry of an older one is void
  Happening kind = Happening::kSample;
  bool operator>(const TimedHappening& other) const { return at != other.at ? at > other.at : order > other.order; }
};

class EventQueue {
 public:
  void Add(Micros at, Happening kind, std::uint32_t what = 0, std::uint32_t generation = 0) {
    happenings_.push({at, next_++, what, generation, kind});
  }
  [[nodiscard]] bool empty() const { return happenings_.empty(); }
  [[nodiscard]] std::size_t size() const { return happenings_.size(); }
  [[nodiscard]] const TimedHappening& first() const { return happenings_.top(); }
  TimedHappening Pop() {
    const TimedHappening first = happenings_.top();
    happenings_.pop();
    return first;
  }

 private:
  std::priority_queue<TimedHappening, std::vector<TimedHappening>, std::greater<>> happenings_;
  std::uint64_t next_ = 0;
};

}  // namespace millrace::sim
