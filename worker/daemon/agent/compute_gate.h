// SPDX-License-Identifier: Apache-2.0
// ComputeGate controls when reduces go from copying to computing. While no more reduces are here than may compute at
// once, each computes as soon as it has copied its input. Otherwise, or if the master says so, a reduce waits until the
// master grants it a permit, in the order of the scheduler. The gate never lets more reduces in than may compute: if a
// grant comes just after another reduce entered without one, the granted reduce waits until one leaves. A worker that
// has lost its master continues with the permits that it has.
//
//   state of a reduce          entered by
//   copying                    Arrive
//   waiting for a grant        EndCopying, unless there is room for all that are here
//   computing                  EndCopying, or Grant; at once or when one leaves
//
// Thread rule: the control thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/protocol/attempt_wire.h"

namespace millrace::worker {

class ComputeGate {
 public:
  explicit ComputeGate(std::size_t most) : most_(most) {}

  // Notes that a reduce is here and copies. With `asks`, the reduce waits for a grant even while there is room for all.
  void Arrive(const AttemptId& attempt, bool asks) { reduces_[attempt].asks = asks; }
  // Notes that the reduce has copied its input. Calls `enter` once when the reduce may compute: now, or from inside a
  // later call. Returns true if the reduce waits for a grant that has not come yet; this must be reported to the
  // master. Requires: the reduce is here.
  [[nodiscard]] bool EndCopying(const AttemptId& attempt, std::function<void()> enter) {
    Reduce& reduce = reduces_.at(attempt);
    reduce.enter = std::move(enter);
    AdmitAll();
    const auto still = reduces_.find(attempt);  // `enter` may have made it leave
    return still != reduces_.end() && still->second.enter != nullptr && !still->second.granted;
  }
  // Grants the reduce the master's permit to compute once it has copied. Does nothing if it is not here, or computes
  // already.
  void Grant(const AttemptId& attempt) {
    const auto at = reduces_.find(attempt);
    if (at == reduces_.end()) return;
    at->second.granted = true;
    AdmitAll();
  }
  // Notes that the reduce is no longer here.
  void Leave(const AttemptId& attempt) {
    const auto at = reduces_.find(attempt);
    if (at == reduces_.end()) return;
    if (at->second.computing) --inside_;
    reduces_.erase(at);
    AdmitAll();
  }
  // Sets the number of reduces that may compute at once. Those that compute already continue, even if they are more.
  void SetMost(std::size_t most) {
    most_ = most;
    AdmitAll();
  }
  [[nodiscard]] std::size_t inside() const { return inside_; }

 private:
  struct Reduce {
    bool asks = false, granted = false, computing = false;
    std::function<void()> enter;  // set while the reduce has copied and does not compute
  };
  void AdmitAll() {
    const bool room_for_all = reduces_.size() <= most_;
    std::vector<std::function<void()>> entered;  // these functions may change the gate
    for (auto& [attempt, reduce] : reduces_) {
      if (inside_ >= most_) break;
      if (reduce.enter == nullptr || !(reduce.granted || (room_for_all && !reduce.asks))) continue;
      reduce.computing = true;
      ++inside_;
      entered.push_back(std::exchange(reduce.enter, nullptr));
    }
    for (const auto& enter : entered) enter();
  }

  std::size_t most_;
  std::size_t inside_ = 0;
  std::map<AttemptId, Reduce> reduces_;
};

}  // namespace millrace::worker
