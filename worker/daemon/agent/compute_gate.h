// ComputeGate lets reduces go from copying to computing. While no more reduces are here than may compute at once, each
// that has copied computes; otherwise, and if the master says so, a reduce waits until the master grants it a permit,
// which goes by the order of the scheduler. The gate never lets more in than may compute, so a grant that crosses a
// reduce that needed none waits until one leaves. A worker that has lost its master goes on with what was granted.
//
//   state of a reduce          comes by
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

  // A reduce is here, and copies. `asks`: it waits for a grant even while there is room for all.
  void Arrive(const AttemptId& attempt, bool asks) { reduces_[attempt].asks = asks; }
  // The reduce has copied its input. Calls `enter` once when it may compute: now, or from inside a later call. Returns
  // true if it waits for a grant that has not come yet, so that the master must be told. Requires: it is here.
  [[nodiscard]] bool EndCopying(const AttemptId& attempt, std::function<void()> enter) {
    Reduce& reduce = reduces_.at(attempt);
    reduce.enter = std::move(enter);
    AdmitAll();
    const auto still = reduces_.find(attempt);  // what is called may have it leave
    return still != reduces_.end() && still->second.enter != nullptr && !still->second.granted;
  }
  // The master lets the reduce compute once it has copied. Does nothing if it is not here, or computes.
  void Grant(const AttemptId& attempt) {
    const auto at = reduces_.find(attempt);
    if (at == reduces_.end()) return;
    at->second.granted = true;
    AdmitAll();
  }
  // The reduce is here no more.
  void Leave(const AttemptId& attempt) {
    const auto at = reduces_.find(attempt);
    if (at == reduces_.end()) return;
    if (at->second.computing) --inside_;
    reduces_.erase(at);
    AdmitAll();
  }
  // Sets how many compute at once. Those that compute go on, however many they are.
  void SetMost(std::size_t most) {
    most_ = most;
    AdmitAll();
  }
  [[nodiscard]] std::size_t inside() const { return inside_; }

 private:
  struct Reduce {
    bool asks = false, granted = false, computing = false;
    std::function<void()> enter;  // while it has copied and does not compute
  };
  void AdmitAll() {
    const bool room_for_all = reduces_.size() <= most_;
    std::vector<std::function<void()>> entered;  // what they call may change the gate
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
