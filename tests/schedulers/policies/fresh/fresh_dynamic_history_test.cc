// SPDX-License-Identifier: Apache-2.0
// fresh-dynamic when things go wrong: lost map outputs, and random histories with faults.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "schedulers/policies/fresh/fresh_dynamic.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

// job1's reduces hold every slot when a map output is lost with n2: a reduce has to go, since the others wait for it.
TEST(FreshDynamicHistoryTest, ReducesThatWaitForALostMapGiveItASlot) {
  Engine engine({}, std::make_unique<FreshDynamic>(FreshSettings{.k = 1}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n2 reduces=2
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 NodeDrained node=n2
    3 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n2
    3 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    5 NodeLost node=n2
    -> gone job1.m.1.0 n2
    5 decide
    -> preempt job1.r.0.0 n1: a map that the reduces wait for needs a slot
    -> launch job1.m.1.1 n1 off
    6 AttemptSucceeded attempt=job1.m.1.1
    -> ready job1.m.1.1 n1
    6 decide
    -> launch job1.r.0.1 n1
  )");
}

// job1's map 1 has failed at n1 and waits for n2, which is taken. Its map 0, whose output is lost, may run at n1.
TEST(FreshDynamicHistoryTest, LostOutputRunsAgainWhereTheJobFoundNoSlotBefore) {
  Engine engine({}, std::make_unique<FreshDynamic>(FreshSettings{}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 reduces=1
    1 JobSubmitted job=job2 maps=1:n2 reduces=0
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job2.m.0.0 n2 node
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.m.1.0 n1 node
    3 AttemptFailed attempt=job1.m.1.0 reason=exit
    3 decide
    4 AttemptLost attempt=job1.m.0.0 reason=corrupt
    -> gone job1.m.0.0 n1
    4 decide
    -> launch job1.m.0.1 n1 node
  )");
}

// job1's map 1 has failed at n1 and waits for n2, which is taken. Its map 0 has failed at both and pauses for 1 s.
TEST(FreshDynamicHistoryTest, AMapThatPausedRunsWhereTheJobFoundNoSlotBefore) {
  Engine engine({}, std::make_unique<FreshDynamic>(FreshSettings{}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 reduces=1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 rack
    2 AttemptFailed attempt=job1.m.0.0 reason=exit
    2 AttemptLost attempt=job1.m.1.0 reason=restart
    2 decide
    -> launch job1.m.1.1 n1 node
    -> launch job1.m.0.1 n2 rack
    3 AttemptFailed attempt=job1.m.0.1 reason=exit
    3 JobSubmitted job=job2 maps=1:n2 reduces=0
    3 decide
    -> launch job2.m.0.0 n2 node
    4 AttemptFailed attempt=job1.m.1.1 reason=exit
    4 decide
    1000003 decide
    -> launch job1.m.0.2 n1 node
  )");
}

void CheckAdmission(const ClusterState& state, const PhaseAdmission& admission, std::uint32_t k) {
  if (k > 0) {
    ASSERT_LE(admission.Count(Phase::kMap), k);
    ASSERT_LE(admission.Count(Phase::kReduce), k);
  }
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    const Phase phase = admission.PhaseOf(key.job);
    ASSERT_NE(phase, Phase::kNone);
    const bool maps_done = job.progress.maps_done == job.progress.maps;
    ASSERT_TRUE(job.running_attempts[TaskKind::kReduce] == 0 || phase == Phase::kReduce) << "job" << key.job.value;
    ASSERT_TRUE(job.running_attempts[TaskKind::kMap] == 0 || phase != Phase::kWaiting) << "job" << key.job.value;
    ASSERT_TRUE(phase != Phase::kWaiting || job.withheld() || (k > 0 && admission.Count(Phase::kMap) == k));
    ASSERT_TRUE(phase != Phase::kReady || !maps_done || (k > 0 && admission.Count(Phase::kReduce) == k));
  }
}

void CheckNoSlotIdles(const ClusterState& state, const PhaseAdmission& admission) {
  for (const QueueKey& key : state.LiveJobs()) {
    if (state.FindJob(key.job)->withheld()) continue;
    for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
      SCOPED_TRACE(ToText(key.job) + " n" + std::to_string(node));
      ASSERT_TRUE(!admission.MayRun(state, TaskKind::kMap, key.job) || !state.BestPendingMap(key.job, NodeId{node}));
      ASSERT_TRUE(!admission.MayRun(state, TaskKind::kReduce, key.job) ||
                  !state.NextPendingReduce(key.job, NodeId{node}));
    }
  }
}

// Returns the job's r_i, 4 w_i and running tasks, from each of its tasks.
ServiceFraction WalkedService(const JobState& job, Micros now) {
  constexpr std::uint32_t kWeights[] = {16, 8, 4, 2, 1};
  ServiceFraction service{job.progress.job};
  service.weight = kWeights[static_cast<std::size_t>(job.progress.priority)];
  Micros used = 0;
  for (const TaskKind kind : kTaskKinds) {
    used += job.times[kind].ended_total;
    for (const TaskState& task : job.Tasks(kind)) {
      service.running += static_cast<std::uint32_t>(task.running.size());
      for (const RunningAttempt& attempt : task.running) used += now - attempt.since;
    }
  }
  if (!job.started || job.progress.started >= now) return service;
  service.used = used;
  service.age = now - job.progress.started;
  return service;
}

// Returns true if a free node may run a task of the job.
bool FitsSomewhere(const ClusterState& state, TaskKind kind, JobId job) {
  for (const std::uint32_t id : state.FreeNodes(kind)) {
    const NodeId node{id};
    if (kind == TaskKind::kMap ? state.BestPendingMap(job, node).has_value()
                               : state.NextPendingReduce(job, node).has_value())
      return true;
  }
  return false;
}

// Whoever gets a slot is the least served of those whose tasks it may run, and maps that run again come first.
class CheckedFreshDynamic : public FreshDynamic {
 public:
  using FreshDynamic::FreshDynamic;

  std::optional<Decision> Next(const ClusterState& state, Micros now) override {
    auto decision = FreshDynamic::Next(state, now);
    for (const TaskKind kind : kTaskKinds) {
      for (const QueueKey& key : state.RunnableJobs(kind)) {
        if (!admission().MayRun(state, kind, key.job) || !FitsSomewhere(state, kind, key.job)) continue;
        EXPECT_TRUE(decision) << ToText(key.job) << " may run";
        if (decision) Compare(state, now, *decision, kind, key.job);
      }
    }
    if (decision) ++decisions_;
    return decision;
  }
  [[nodiscard]] int decisions() const { return decisions_; }

 private:
  // The other job could have had a slot of the kind, too.
  void Compare(const ClusterState& state, Micros now, const Decision& decision, TaskKind kind, JobId other) const {
    const JobId chosen = decision.task.job;
    const auto repairs = [&](TaskKind of, JobId job) {
      return of == TaskKind::kMap && admission().InRepair(state, job);
    };
    SCOPED_TRACE(ToText(decision.task) + ", and " + ToText(other) + " could have had the slot");
    if (repairs(kind, other)) {
      EXPECT_TRUE(repairs(decision.task.kind, chosen) && chosen <= other);
    } else if (kind == decision.task.kind && !repairs(kind, chosen) && chosen != other) {
      const auto service = [&](JobId job) { return WalkedService(*state.FindJob(job), now); };
      EXPECT_TRUE(LeastServedFirst(service(chosen), service(other)));
    }
  }

  int decisions_ = 0;
};

TEST(FreshDynamicHistoryTest, AnyHistoryServesTheLeastServed) {
  const unsigned base = std::random_device()();
  int decisions = 0;
  for (unsigned round = 0; round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    FreshSettings settings{.k = round % 4};
    if (round % 3 == 0) settings.order = FreshSettings::Order::kJohnson;
    if (round % 5 == 0) settings.tau_progress = settings.tau_change = 0.2;  // looks ahead, and jumps, more often
    HistoryOptions options{"fresh-dynamic", {}, false};
    options.make = [&] { return std::make_unique<CheckedFreshDynamic>(settings); };
    History history(base + round, options);
    for (int step = 0; step < 300 && !HasFailure(); ++step) history.Step();
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
    decisions += dynamic_cast<const CheckedFreshDynamic&>(history.engine().policy()).decisions();
  }
  EXPECT_GT(decisions, 5000);
}

TEST(FreshDynamicHistoryTest, AnyHistoryKeepsToKAndLeavesNoSlotIdle) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 80; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options{"fresh-dynamic", {}, false};
    const std::uint32_t k = options.settings.Of<FreshSettings>().k = round % 4;
    if (round % 3 == 0) options.settings.Of<FreshSettings>().order = FreshSettings::Order::kJohnson;
    History history(base + round, options);
    const auto& policy = dynamic_cast<const FreshDynamic&>(history.engine().policy());
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      const std::size_t before = history.records().size();
      history.Step();
      if (history.records().size() <= before + 1) continue;  // without a call of Decide
      CheckAdmission(history.engine().state(), policy.admission(), k);
      CheckNoSlotIdles(history.engine().state(), policy.admission());
    }
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace millrace::sched
