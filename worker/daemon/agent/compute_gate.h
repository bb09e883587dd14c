// ComputeGate lets reduces go from copying to computing: at most `most` compute at once, first come first served. The
// master says that number with each reduce that it launches. It is as many as the master lets in, unless the master
// splits copying from computing and lets more of them copy. Thread rule: the control thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <utility>

#include "base/protocol/attempt_wire.h"

namespace millrace::worker {

class ComputeGate {
 public:
  explicit ComputeGate(std::size_t most) : most_(most) {}

  // Calls `enter` once when the attempt may compute: now, or from inside the Leave of another attempt.
  void Enter(const AttemptId& attempt, std::function<void()> enter) {
    waiting_.push_back({attempt, std::move(enter)});
    Admit();
  }
  // Notes that the attempt computes no more, or does not want to any more. It need not have entered.
  void Leave(const AttemptId& attempt) {
    inside_.erase(attempt);
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.attempt == attempt; });
    Admit();
  }
  // Sets how many compute at once. Those inside stay, however many they are.
  void SetMost(std::size_t most) {
    most_ = most;
    Admit();
  }
  [[nodiscard]] std::size_t inside() const { return inside_.size(); }

 private:
  struct Waiting {
    AttemptId attempt;
    std::function<void()> enter;
  };
  void Admit() {
    while (inside_.size() < most_ && !waiting_.empty()) {
      const Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      inside_.insert(next.attempt);
      next.enter();
    }
  }

  std::size_t most_;
  std::deque<Waiting> waiting_;
  std::set<AttemptId> inside_;
};

}  // namespace millrace::worker
