// SPDX-License-Identifier: Apache-2.0
// FairQueue against its definition: shares by shares.h and order by a sort, after every one of many random changes.
#include "schedulers/policies/fair/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <vector>

#include "schedulers/policies/fair/shares.h"

namespace millrace::sched {
namespace {

class Model {
 public:
  explicit Model(std::mt19937* random) : random_(*random) {
    for (std::uint32_t id = 0; id < 12; ++id) members_.emplace_back("", (id * 7) % 12);
  }

  void Step() {
    if (Below(8) == 0) {
      capacity_ = Below(60);
      queue_.SetCapacity(capacity_ * kSlot);
      return;
    }
    FairQueue::Member& member = members_[Below(static_cast<std::uint32_t>(members_.size()))];
    if (Below(8) == 0) {
      queue_.Erase(member);
      std::erase(present_, &member);
      return;
    }
    FairClaim claim;
    const bool is_new = std::find(present_.begin(), present_.end(), &member) == present_.end();
    if (is_new || Below(3) == 0) {
      claim.weight = WeightUnits(0.25 * (1U << Below(5)));
      claim.minimum = Below(4) == 0 ? Below(12) : 0;
      claim.demand = Below(25);
    } else {
      claim = member.fair();
      claim.demand = Below(2) == 0 ? claim.demand + 1 : claim.demand - std::min(claim.demand, 1U);
    }
    claim.running = Below(claim.demand + 1);
    claim.offered = claim.running < claim.demand;
    queue_.Put(member, claim);
    if (is_new) present_.push_back(&member);
  }

  void Compare() {
    CompareShares();
    CompareOrder();
  }

 private:
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void CompareShares() {
    std::vector<ShareClaim> claims;
    for (const auto* member : present_) {
      const FairClaim& fair = member->fair();
      claims.push_back({static_cast<double>(fair.weight) / kSlot, static_cast<double>(fair.minimum),
                        static_cast<double>(fair.demand)});
    }
    const auto shares = FairShares(capacity_, claims);
    const auto minima = GrantedMinima(capacity_, claims);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const FairClaim& fair = present_[i]->fair();
      // Units of 1/65536, and minima that were scaled are rounded down.
      ASSERT_NEAR(queue_.Share(*present_[i]), shares[i], 1e-3);
      ASSERT_LE(queue_.Share(*present_[i]), shares[i] + 1e-3);
      const double next = fair.running + 1;
      if (std::abs(next - shares[i]) > 1e-3 || fair.running == fair.demand) {
        ASSERT_EQ(queue_.IsBelowShare(*present_[i]), next <= shares[i] && fair.running < fair.demand);
      }
      if (std::abs(next - minima[i]) > 1e-3) {
        ASSERT_EQ(queue_.IsBelowMinimum(*present_[i]), next <= minima[i]);
      }
    }
  }

  void CompareOrder() {
    std::vector<FairQueue::Member*> expected;
    std::copy_if(present_.begin(), present_.end(), std::back_inserter(expected),
                 [](const auto* member) { return member->fair().offered; });
    std::sort(expected.begin(), expected.end(), [&](const auto* a, const auto* b) { return Comes(*a, *b); });
    std::vector<FairQueue::Member*> visited;
    queue_.Visit([&](FairQueue::Member& member, std::uint32_t id) {
      EXPECT_EQ(id, member.id());
      visited.push_back(&member);
      return false;
    });
    ASSERT_EQ(visited.size(), expected.size());
    for (std::size_t i = 0; i < visited.size(); ++i) {
      // Minima that were scaled are rounded down, so that near ties may be decided otherwise.
      const double key = Key(*visited[i]);
      ASSERT_NEAR(key, Key(*expected[i]), 1e-3 * std::max(1.0, std::abs(key))) << i;
      if (i == 0) continue;
      ASSERT_TRUE(queue_.Before(*visited[i - 1], *visited[i])) << i;
      ASSERT_FALSE(queue_.Before(*visited[i], *visited[i - 1])) << i;
    }
  }

  double Key(const FairQueue::Member& member) {
    const FairClaim& fair = member.fair();
    if (fair.running < fair.minimum) return -1 + 1.0 * fair.running / fair.minimum;
    const double share = queue_.Share(member);
    return share > 0 ? std::min(fair.running / share, 1e9) : 1e9;
  }
  bool Comes(const FairQueue::Member& a, const FairQueue::Member& b) {
    const double left = Key(a), right = Key(b);
    return std::abs(left - right) > 1e-9 ? left < right : a.id() < b.id();
  }

  std::mt19937& random_;
  std::deque<FairQueue::Member> members_;
  std::vector<FairQueue::Member*> present_;
  FairQueue queue_;
  std::uint32_t capacity_ = 0;
};

TEST(FairQueue, SharesAndOrderAreThoseOfTheDefinition) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    Model model(&random);
    for (int step = 0; step < 200 && !testing::Test::HasFatalFailure(); ++step) {
      model.Step();
      model.Compare();
    }
  }
}

TEST(FairQueue, ADemandAboveTheShareChangesNobodysShare) {
  FairQueue queue;
  FairQueue::Member a("a", 0), b("b", 0);
  queue.SetCapacity(10 * kSlot);
  queue.Put(a, {kSlot, 0, 100, 5, true});
  queue.Put(b, {kSlot, 0, 100, 5, true});
  EXPECT_DOUBLE_EQ(queue.Share(b), 5);
  queue.Put(a, {kSlot, 0, 6, 5, true});
  EXPECT_DOUBLE_EQ(queue.Share(b), 5);
  queue.Put(a, {kSlot, 0, 3, 3, false});
  EXPECT_DOUBLE_EQ(queue.Share(b), 7);
  queue.Erase(a);
  EXPECT_DOUBLE_EQ(queue.Share(b), 10);
}

TEST(FairQueue, AMinimumThatBecomesWhatWasGrantedOfItIsScaledAnew) {
  FairQueue queue;
  FairQueue::Member a("a", 0), b("b", 0);
  queue.SetCapacity(4 * kSlot);
  queue.Put(a, {kSlot, 3, 3, 0, true});
  queue.Put(b, {kSlot, 9, 9, 0, true});
  EXPECT_NEAR(queue.Share(a), 1, 1e-3);
  EXPECT_NEAR(queue.Share(b), 3, 1e-3);
  queue.Put(a, {kSlot, 1, 3, 0, true});
  EXPECT_NEAR(queue.Share(a), 0.4, 1e-3);
  EXPECT_NEAR(queue.Share(b), 3.6, 1e-3);
}

}  // namespace
}  // namespace millrace::sched
