// SPDX-License-Identifier: Apache-2.0
// StarvationWatch against its rule, in which every member is asked, after many random changes of a queue.
#include "schedulers/policies/fair/starvation_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace millrace::sched {
namespace {

using Cause = StarvationClocks::Cause;
using Lack = std::pair<std::string, Cause>;

Lack Named(const StarvationClocks::Lack& lack) { return {std::string(lack.member->name()), lack.cause}; }

class WatchModel {
 public:
  explicit WatchModel(unsigned seed) : random_(seed) {
    for (int i = 0; i < 10; ++i) names_.push_back("pool" + std::to_string(i));
    for (const std::string& name : names_) members_.emplace_back(name, 0);
  }

  void Step() {
    now_ += Below(4);
    for (std::uint32_t change = Below(4); change > 0; --change) Change();
    if (Below(3) == 0) (void)queue_.Share(members_[0]);  // a look in between settles the queue
    watch_.Update(now_);
    Ask();
    std::vector<Lack> due;
    for (const StarvationClocks::Lack& lack : clocks_.Due(now_)) {
      due.push_back(Named(lack));
      clocks_.BeginAnew(lack, now_);
    }
    ASSERT_EQ(due, Due());
    for (const Lack& lack : due) until_[lack] = now_ + kPatience;
    std::optional<Micros> next;
    for (const auto& [lack, until] : until_) next = std::min(next.value_or(until), until);
    ASSERT_EQ(clocks_.NextDue(), next);
    if (!due.empty()) ++starved;
    CheckSteady();
  }

  int starved = 0, ranges = 0;

 private:
  static constexpr Micros kPatience = 5;
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void Change() {
    if (Below(8) == 0) {
      capacity_ = Units{Below(60)} * kSlot;
      return queue_.SetCapacity(capacity_);
    }
    FairQueue::Member& member = members_[Below(10)];
    if (Below(10) == 0) {
      queue_.Erase(member);
      present_.erase(&member);
      std::erase_if(until_, [&](const auto& waits) { return waits.first.first == member.name(); });
      return;
    }
    FairClaim claim = member.fair();
    if (present_.insert(&member).second || Below(4) == 0) {
      claim.weight = WeightUnits(0.25 * (1U << Below(5)));
      claim.minimum = Below(3) == 0 ? Below(12) : 0;
    }
    claim.demand = Below(25);
    claim.running = Below(claim.demand + 1);
    claim.offered = Below(2) == 0;
    queue_.Put(member, claim);
  }

  // With all capacities of the range those that lack slots are the same, and beyond its ends not always.
  void CheckSteady() {
    const UnitRange steady = watch_.SteadyCapacities();
    ASSERT_LE(steady.from, capacity_);
    ASSERT_GT(steady.to, capacity_);
    const std::map<Lack, Micros> before = until_;
    for (const Units capacity : {steady.from, steady.to - 1, steady.from - 1, steady.to}) {
      if (capacity < 0 || capacity > 100 * kSlot) continue;
      queue_.SetCapacity(capacity);
      Ask();
      const bool inside = steady.from <= capacity && capacity < steady.to;
      const bool same = until_ == before;
      ASSERT_TRUE(same || !inside) << capacity << " of " << capacity_;
      ranges += same ? 0 : 1;
      until_ = before;
    }
    queue_.SetCapacity(capacity_);
  }

  void Ask() {
    std::map<Lack, Micros> until;
    for (FairQueue::Member* member : present_) {
      for (const Cause cause : {Cause::kMinimum, Cause::kFairShare}) {
        if (!(cause == Cause::kMinimum ? queue_.IsBelowMinimum(*member) : queue_.IsBelowShare(*member))) continue;
        const Lack lack{member->name(), cause};
        const auto waits = until_.find(lack);
        until[lack] = waits == until_.end() ? now_ + kPatience : waits->second;
      }
    }
    until_ = std::move(until);
  }

  std::vector<Lack> Due() const {
    std::set<std::pair<Micros, Lack>> in_order;
    for (const auto& [lack, until] : until_) {
      if (until <= now_) in_order.insert({until, lack});
    }
    std::vector<Lack> due;
    for (const auto& [until, lack] : in_order) due.push_back(lack);
    return due;
  }

  std::mt19937 random_;
  Micros now_ = 0;
  std::vector<std::string> names_;
  std::deque<FairQueue::Member> members_;
  std::set<FairQueue::Member*> present_;
  FairQueue queue_;
  Units capacity_ = 0;
  StarvationClocks clocks_{[](const StarvationClocks::Lack&) { return kPatience; }};
  StarvationWatch watch_{queue_, clocks_};
  std::map<Lack, Micros> until_;
};

TEST(StarvationWatch, FindsThoseOfTheRule) {
  const unsigned base = std::random_device()();
  int starved = 0, ranges = 0;
  for (unsigned seed = base; seed < base + 50 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WatchModel model(seed);
    for (int step = 0; step < 500 && !testing::Test::HasFailure(); ++step) model.Step();
    starved += model.starved, ranges += model.ranges;
  }
  EXPECT_GT(starved, 0);
  EXPECT_GT(ranges, 0);
}

}  // namespace
}  // namespace millrace::sched
