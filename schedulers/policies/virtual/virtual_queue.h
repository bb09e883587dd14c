// SPDX-License-Identifier: Apache-2.0
// VirtualQueue: members that share a server fairly, in a simulation beside the real cluster. A member with weight w
// gets w / (sum of the weights) of the server until its work is done.
//
// As in weighted fair queueing (Demers et al. 1989), no member's remaining work is kept. The virtual time g is the work
// that a member of weight 1 would have got so far. A member that enters at g0 with work s has key g0 + s / w, and its
// work is done when g has reached the key. So the members end in the order of their keys, whatever else comes and goes.
//
//   Advance(work):                                 // the server has done so much work for all members together
//     while there are members, and work is enough to lift g to the least key:
//       work -= (least key - g) * sum of the weights;  g = least key;  the member with this key has ended
//     g += work / sum of the weights                // what does not make a whole unit is kept for the next time
//
// All is integer (us of slot time), and what a call of Advance cannot divide is kept, so that it does not matter in how
// many steps the work is done. Work that is done while there are no members is lost. Thread rule: one thread.
// O(log members) a member that enters, leaves or ends.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "base/ids/time.h"

namespace millrace::sched {

template <class Member>
class VirtualQueue {
 public:
  // Returns the virtual time g.
  [[nodiscard]] Micros now() const { return now_; }
  [[nodiscard]] bool empty() const { return members_.empty(); }

  // Inserts a member, unless its key shows that its work is done. Requires: weight > 0, and the member is not in the
  // queue.
  void Insert(Micros key, Member member, std::uint32_t weight) {
    if (key <= now_) return;
    members_.insert({key, member, weight});
    weights_ += weight;
  }
  // Does nothing if no such member is in the queue.
  void Erase(Micros key, Member member, std::uint32_t weight) {
    if (members_.erase({key, member, weight}) > 0) weights_ -= weight;
  }
  // Calls ended(member, work that is left) for each member that ends, in order. Requires: work >= 0.
  template <class Ended>
  void Advance(Micros work, const Ended& ended) {
    work += undivided_;
    while (!members_.empty()) {
      const auto [key, member, weight] = *members_.begin();
      // By division, since the product may not fit.
      if (key - now_ > work / weights_) break;
      work -= (key - now_) * weights_;
      now_ = key;
      members_.erase(members_.begin());
      weights_ -= weight;
      ended(member, work);
    }
    undivided_ = 0;
    if (members_.empty()) return;
    now_ += work / weights_;
    undivided_ = work % weights_;
  }
  // Returns the work that is left to do for all members together.
  [[nodiscard]] Micros Left() const {
    Micros left = 0;
    for (const auto& [key, member, weight] : members_) left += (key - now_) * weight;
    return left - undivided_;
  }

 private:
  std::set<std::tuple<Micros, Member, std::uint32_t>> members_;  // with keys above now_
  Micros now_ = 0;
  Micros weights_ = 0;    // the sum of those of the members
  Micros undivided_ = 0;  // work below weights_ at the last Advance
};

}  // namespace millrace::sched
