// SPDX-License-Identifier: Apache-2.0
// Tests what a policy can do besides filling slots (limits of nodes, preemption, duplicates) and what it is told.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

// The decisions that a policy under test is to make, and the notifications that it got.
struct Orders {
  std::deque<Decision> launches;
  std::vector<Victim> victims;
  NodeLimits limits{1, 1, 2};
  bool limits_changed = false;
  bool tell_rounds = false;
  std::vector<std::string> told;
};

class Obedient : public Policy {
 public:
  explicit Obedient(std::shared_ptr<Orders> orders) : orders_(std::move(orders)) {}
  [[nodiscard]] std::string_view name() const override { return "obedient"; }
  void OnJobSubmitted(const ClusterState&, JobId job) override { Tell("submitted", job); }
  void OnJobPrioritySet(const ClusterState&, JobId job) override { Tell("priority", job); }
  void OnJobEnded(const ClusterState&, JobId job) override { Tell("ended", job); }
  void OnJobChanged(const ClusterState&, JobId job) override { Tell("changed", job); }
  void OnNodesChanged(const ClusterState&) override { orders_->told.emplace_back("nodes"); }
  [[nodiscard]] NodeLimits LimitsOf(const NodeState&) const override { return orders_->limits; }
  Limits BeginRound(const ClusterState&, Micros) override {
    if (orders_->tell_rounds) orders_->told.emplace_back("round");
    return std::exchange(orders_->limits_changed, false) ? Limits::kChanged : Limits::kSame;
  }
  std::vector<Victim> Preempt(const ClusterState&, Micros) override { return std::exchange(orders_->victims, {}); }
  std::optional<Decision> Next(const ClusterState&, Micros) override {
    if (orders_->launches.empty()) return std::nullopt;
    const Decision decision = orders_->launches.front();
    orders_->launches.pop_front();
    return decision;
  }

 private:
  void Tell(const std::string& what, JobId job) { orders_->told.push_back(what + ' ' + std::to_string(job.value)); }

  std::shared_ptr<Orders> orders_;
};

class EnginePolicy : public testing::Test {
 protected:
  static TaskId Map(std::uint32_t index) { return {JobId{1}, TaskKind::kMap, index}; }
  std::vector<std::string> Told() { return std::exchange(orders_->told, {}); }

  std::shared_ptr<Orders> orders_ = std::make_shared<Orders>();
  Engine engine_{{.make_policy = [](const SchedulerSet& set) -> std::unique_ptr<Policy> {
                   if (set.name != "obedient") return nullptr;
                   auto orders = std::make_shared<Orders>();
                   orders->limits = {9, 9, 9};
                   return std::make_unique<Obedient>(orders);
                 }},
                 std::make_unique<Obedient>(orders_)};
};

TEST_F(EnginePolicy, IsToldOfWhatChangedOnceAnEvent) {
  Play(&engine_, "0 NodeJoined node=n1 maps=4 reduces=4");
  EXPECT_EQ(Told(), std::vector<std::string>{"nodes"});
  Play(&engine_, "1 JobSubmitted job=job1 maps=1:n1;1:n1");
  EXPECT_EQ(Told(), std::vector<std::string>{"submitted 1"});
  orders_->launches = {{Map(0), NodeId{1}, false}};
  Play(&engine_, "1 decide");
  EXPECT_EQ(Told(), std::vector<std::string>{"changed 1"});
  Play(&engine_, "2 JobSubmitted job=job2 maps=1:\n 2 JobPrioritySet job=job2 priority=LOW");
  EXPECT_EQ(Told(), (std::vector<std::string>{"submitted 2", "priority 2"}));
  Play(&engine_, "3 AttemptSucceeded attempt=job1.m.0.0");
  EXPECT_EQ(Told(), std::vector<std::string>{"changed 1"});
  Play(&engine_, "3 JobKilled job=job1");
  EXPECT_EQ(Told(), std::vector<std::string>{"ended 1"});
  Play(&engine_, "4 NodeDrained node=n1\n 5 NodeLost node=n1");
  EXPECT_EQ(Told(), (std::vector<std::string>{"nodes", "nodes"}));
}

TEST_F(EnginePolicy, IsToldThatARoundBeginsAfterWhatChangedAndOfItsOwnLimitsBeforeItGoesOn) {
  orders_->tell_rounds = true;
  Play(&engine_, "0 NodeJoined node=n1 maps=4 reduces=4\n 1 JobSubmitted job=job1 maps=1:n1;1:n1");
  orders_->limits = {2, 2, 4};
  orders_->limits_changed = true;
  orders_->launches = {{Map(0), NodeId{1}, false}, {Map(1), NodeId{1}, false}};
  Play(&engine_, "1 decide");
  EXPECT_EQ(Told(), (std::vector<std::string>{"nodes", "submitted 1", "round", "nodes", "changed 1", "changed 1"}));
  Play(&engine_, "2 JobEvicted job=job1");
  EXPECT_EQ(Told(), std::vector<std::string>{"changed 1"});
  Play(&engine_, "3 decide");
  EXPECT_EQ(Told(), (std::vector<std::string>{"changed 1", "round"})) << "a held job is released first";
}

TEST_F(EnginePolicy, PreemptedAttemptsCountAsNeverStarted) {
  Play(&engine_, "0 NodeJoined node=n1 maps=4 reduces=4\n 1 JobSubmitted job=job1 maps=1:n1 max_attempts=1");
  orders_->launches = {{Map(0), NodeId{1}, false}};
  Play(&engine_, "1 decide");
  orders_->victims = {{{Map(0), 0}, "for others"}};
  orders_->launches = {{Map(0), NodeId{1}, false}};
  EXPECT_PLAYS(&engine_, R"(
    2 decide
    -> preempt job1.m.0.0 n1: for others
    -> launch job1.m.0.1 n1 node
    3 AttemptSucceeded attempt=job1.m.0.0
    -> refused
    3 AttemptPreempted attempt=job1.m.0.1 reason=replayed
    4 AttemptPreempted attempt=job1.m.0.1
    -> refused
    5 decide
  )");
  const auto progress = engine_.Progress(JobId{1});
  EXPECT_EQ(progress->preempted_attempts, 2U);
  EXPECT_EQ(progress->failed_attempts + progress->killed_attempts, 0U);
  EXPECT_EQ(engine_.state().FindJob(JobId{1})->Demand(TaskKind::kMap), 1U);
}

TEST_F(EnginePolicy, LimitsAreThePolicys) {
  Play(&engine_,
       "0 NodeJoined node=n1 maps=4 reduces=4\n 1 JobSubmitted job=job1 maps=1:;1:;1: reduces=2 slow_start=0");
  EXPECT_EQ(engine_.state().Capacity(TaskKind::kMap), 1U);
  EXPECT_EQ(engine_.state().TotalCapacity(), 2U);
  orders_->limits = NodeLimits::Untyped({1, 1});
  orders_->limits_changed = true;
  orders_->launches = {{Map(0), NodeId{1}, false}, {Map(1), NodeId{1}, false}};
  Play(&engine_, "1 decide");
  EXPECT_EQ(engine_.state().Capacity(TaskKind::kReduce), 2U);
  EXPECT_TRUE(engine_.state().FreeNodes(TaskKind::kMap).empty());
  EXPECT_TRUE(engine_.state().FreeNodes(TaskKind::kReduce).empty()) << "two maps hold both slots";
  Play(&engine_, "2 AttemptLost attempt=job1.m.0.0");
  EXPECT_TRUE(engine_.state().FreeNodes(TaskKind::kReduce).Contains(1));
  // The limit is below what is running: nothing is killed, and nothing is free until the surplus has ended.
  orders_->limits = {0, 1, 1};
  orders_->limits_changed = true;
  EXPECT_PLAYS(&engine_, "3 decide");
  EXPECT_TRUE(engine_.state().FreeNodes(TaskKind::kReduce).empty());
  Play(&engine_, "4 AttemptLost attempt=job1.m.1.0");
  EXPECT_TRUE(engine_.state().FreeNodes(TaskKind::kReduce).Contains(1));
  EXPECT_TRUE(engine_.state().FreeNodes(TaskKind::kMap).empty());
}

TEST_F(EnginePolicy, ADuplicateRunsElsewhereAndTheFirstWins) {
  Play(&engine_, R"(
    0 NodeJoined node=n1 maps=4
    0 NodeJoined node=n2 maps=4
    1 JobSubmitted job=job1 maps=1:n1)");
  orders_->launches = {{Map(0), NodeId{1}, false}, {Map(0), NodeId{2}, true}};
  EXPECT_PLAYS(&engine_, R"(
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.0.1 n2 rack
    2 AttemptProgressed attempt=job1.m.0.0 per_mille=500
    2 AttemptProgressed attempt=job1.m.0.0 per_mille=1001
    -> refused
  )");
  EXPECT_EQ(engine_.state().Speculating(TaskKind::kMap), 1U);
  EXPECT_EQ(engine_.state().FindJob(JobId{1})->maps[0].running[0].per_mille, 500U);
  EXPECT_PLAYS(&engine_, R"(
    3 AttemptSucceeded attempt=job1.m.0.1
    -> kill job1.m.0.0 n1: attempt 1 has succeeded
    -> ended job1 succeeded
  )");
  EXPECT_EQ(engine_.state().Speculating(TaskKind::kMap), 0U);
  EXPECT_EQ(engine_.Progress(JobId{1})->speculative_attempts, 1U);
}

TEST_F(EnginePolicy, AnotherIsSetByAnEventAndLearnsOfTheLiveJobs) {
  Play(&engine_, "0 NodeJoined node=n1 maps=4\n 1 JobSubmitted job=job1 maps=1:n1");
  EXPECT_PLAYS(&engine_, R"(
    2 SchedulerSet name=unheard-of
    -> refused
    2 SchedulerSet name=obedient settings=a%0Ab
  )");
  EXPECT_EQ(engine_.state().Capacity(TaskKind::kMap), 9U);
  EXPECT_NE(engine_.state().FindJob(JobId{1}), nullptr);
}

TEST_F(EnginePolicy, SumsOfTimesAndBytesAreKept) {
  Play(&engine_, R"(
    0 NodeJoined node=n1 rack=a maps=4
    0 NodeJoined node=n2 rack=b maps=4 reduces=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1 reduces=1 slow_start=0
    10 AttemptLaunched attempt=job1.m.0.0 node=n1
    10 AttemptLaunched attempt=job1.m.1.0 node=n2
    10 AttemptLaunched attempt=job1.m.2.0 node=n1
    10 AttemptLaunched attempt=job1.r.0.0 node=n2
    30 AttemptSucceeded attempt=job1.m.0.0 input_bytes=100 output_bytes=40
    50 AttemptSucceeded attempt=job1.m.1.0 input_bytes=100 output_bytes=20
    60 AttemptFailed attempt=job1.m.2.0)");
  const JobState& job = *engine_.state().FindJob(JobId{1});
  EXPECT_EQ(job.MeanTime(TaskKind::kMap), 30);  // of 20 and 40
  EXPECT_EQ(job.times[TaskKind::kMap].local, 1U);
  EXPECT_EQ(job.times[TaskKind::kMap].local_total, 20);
  EXPECT_EQ(job.MeanTime(TaskKind::kReduce), std::nullopt);
  EXPECT_EQ(job.SlotTime(TaskKind::kMap, 100), 20 + 40 + 50);
  EXPECT_EQ(job.SlotTime(TaskKind::kReduce, 100), 90);
  EXPECT_EQ(job.map_input_bytes, 200U);
  EXPECT_EQ(job.map_output_bytes, 60U);
  EXPECT_EQ(engine_.state().MeanTime(TaskKind::kMap), 30);
  EXPECT_EQ(engine_.state().FindNode(NodeId{2})->Copying(JobId{1}), 1U);
  EXPECT_PLAYS(&engine_, R"(
    100 ReduceComputing attempt=job1.r.0.0
    100 ReduceComputing attempt=job1.m.0.0
    -> refused
  )");
  EXPECT_EQ(engine_.state().FindNode(NodeId{2})->Copying(JobId{1}), 0U);
  EXPECT_EQ(job.running_attempts[kComputePermit], 1U);
  Play(&engine_, "110 JobKilled job=job1");
  EXPECT_EQ(engine_.state().FindJob(JobId{1})->map_output_bytes, 60U) << "kept for the history";
}

// Times are microseconds since the epoch, and the sum of 6,000 of them exceeds a signed 64-bit integer.
TEST(SlotTimeTest, IsRightForThousandsOfAttemptsAtTimesOfToday) {
  constexpr Micros kToday = 1'800'000'000'000'000;
  ClusterState state;
  state.JoinNode({NodeId{1}, "r", "d", {6000, 0}});
  JobSpec spec;
  spec.maps.resize(6000);
  state.AddJob(JobId{1}, spec, kToday);
  for (std::uint32_t map = 0; map < 6000; ++map)
    (void)state.StartAttempt({{JobId{1}, TaskKind::kMap, map}, 0}, NodeId{1}, kToday + map % 2);
  EXPECT_EQ(state.FindJob(JobId{1})->SlotTime(TaskKind::kMap, kToday + 10), 6000 * 10 - 3000);
}

TEST(BandwidthsTest, APairThenItsRacksThenItsDatacentersThenWhatIsConfigured) {
  Topology topology;
  for (std::uint32_t n = 1; n <= 4; ++n) topology.Place(NodeId{n}, topology.Intern(n <= 2 ? "a" : "b", "east"));
  topology.Place(NodeId{5}, topology.Intern("a", "west"));
  const LevelBandwidths configured{300, 200, 100};
  Bandwidths seen;
  const auto between = [&](std::uint32_t a, std::uint32_t b) {
    return seen.Between(NodeId{a}, NodeId{b}, topology, configured);
  };
  EXPECT_EQ(between(1, 2), 300);
  EXPECT_EQ(between(1, 3), 200);
  EXPECT_EQ(between(1, 5), 100);
  const auto end = [&](std::uint32_t n) { return Bandwidths::End{NodeId{n}, topology.Of(NodeId{n})}; };
  seen.Record(end(1), end(3), 80);
  EXPECT_EQ(between(1, 3), 80);
  EXPECT_EQ(between(2, 4), 80) << "their racks";
  EXPECT_EQ(between(3, 1), 80) << "the same datacenter";
  EXPECT_EQ(between(1, 5), 100);
  seen.Record(end(1), end(3), 40);
  EXPECT_EQ(between(1, 3), 70);  // a quarter of the way
}

}  // namespace
}  // namespace millrace::sched
