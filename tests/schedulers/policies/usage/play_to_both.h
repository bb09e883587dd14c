// SPDX-License-Identifier: Apache-2.0
// PlayToBoth tells an order and its twin of the same random history, so that what they count can be compared on the
// way.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "schedulers/offering/greedy.h"
#include "schedulers/offering/job_order.h"
#include "tests/schedulers/history.h"

namespace millrace::sched {

// An order that tells another one of all that it is told, and decides alone.
template <class Order>
class WithTwin : public Order {
 public:
  WithTwin(const Settings& settings, JobOrder* twin) : Order(settings), twin_(*twin) {}
  void OnJobSubmitted(const ClusterState& state, JobId job) override {
    Order::OnJobSubmitted(state, job);
    twin_.OnJobSubmitted(state, job);
  }
  void OnJobEnded(const ClusterState& state, JobId job) override {
    Order::OnJobEnded(state, job);
    twin_.OnJobEnded(state, job);
  }
  void OnJobChanged(const ClusterState& state, JobId job) override {
    Order::OnJobChanged(state, job);
    twin_.OnJobChanged(state, job);
  }
  void OnNodesChanged(const ClusterState& state) override {
    Order::OnNodesChanged(state);
    twin_.OnNodesChanged(state);
  }
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override {
    (void)twin_.BeginRound(state, now);
    return Order::BeginRound(state, now);
  }

 private:
  JobOrder& twin_;
};

// Plays 300 steps, and calls compare(order, state) after each.
template <class Order, class Compare>
void PlayToBoth(unsigned seed, const Settings& settings, JobOrder* twin, const Compare& compare) {
  const Order* order = nullptr;
  HistoryOptions options;
  options.conserving = false;
  options.gives_all_permits = false;
  options.make = [&] {
    auto made = std::make_unique<WithTwin<Order>>(settings, twin);
    order = made.get();
    return std::make_unique<Greedy>("with a twin", std::move(made), Admission());
  };
  History history(seed, options);
  for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
    history.Step();
    compare(*order, history.engine().state());
  }
}

// Compares the shares and guarantees of the pools.
inline void ExpectSameGroups(const PolicyView& a, const PolicyView& b) {
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    for (const TaskKind kind : kTaskKinds) {
      EXPECT_EQ(a.groups[i].slots[kind].share, b.groups[i].slots[kind].share) << a.groups[i].name;
      EXPECT_EQ(a.groups[i].slots[kind].minimum, b.groups[i].slots[kind].minimum) << a.groups[i].name;
    }
  }
}

}  // namespace millrace::sched
