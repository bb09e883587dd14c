// SPDX-License-Identifier: Apache-2.0
// Random histories: every decision is that of the naive twin, no task is lost, and no node idles while its datacenter
// has a task that it may run.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/policies/joss/joss.h"
#include "schedulers/policies/joss/joss_settings.h"
#include "schedulers/policies/joss/reference.h"
#include "tests/schedulers/history.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 9, kCenters = 3, kJobs = 20;
constexpr Joss::Assigner kAssigners[] = {Joss::Assigner::kTask, Joss::Assigner::kJob};

std::string Text(const std::optional<Decision>& decision) {
  return decision ? ToText(decision->task) + " on n" + std::to_string(decision->node.value) : "nothing";
}

// Every decision is that of the reference.
class ComparedJoss : public Joss {
 public:
  ComparedJoss(Assigner assigner, const JossSettings& settings)
      : Joss(assigner, settings), reference_(assigner, settings) {}

  void OnJobSubmitted(const ClusterState& state, JobId job) override {
    Joss::OnJobSubmitted(state, job);
    reference_.OnJobChanged(job);
  }
  void OnJobChanged(const ClusterState& state, JobId job) override {
    Joss::OnJobChanged(state, job);
    reference_.OnJobChanged(job);
  }
  void OnJobEnded(const ClusterState& state, JobId job) override {
    Joss::OnJobEnded(state, job);
    reference_.OnJobEnded(job);
  }
  std::optional<Decision> Next(const ClusterState& state, Micros now) override {
    auto decision = Joss::Next(state, now);
    const auto expected = reference_.Next(state);
    EXPECT_EQ(Text(decision), Text(expected));
    if (expected) ++decisions_;
    return expected;  // the engine might abort at the other, and the difference would not be reported
  }
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override {
    const bool waits = Joss::WaitsForSpace(state, now);
    EXPECT_EQ(waits, reference_.WaitsForSpace(state));
    return waits;
  }
  [[nodiscard]] int decisions() const { return decisions_; }

 private:
  JossReference reference_;
  int decisions_ = 0;
};

class ThreeDatacenters {
 public:
  ThreeDatacenters(Joss::Assigner assigner, unsigned seed)
      : random_(seed), engine_({}, std::make_unique<ComparedJoss>(assigner, JossSettings())) {
    for (std::uint32_t n = 0; n < kNodes; ++n) Join(n);
  }

  void Play() {
    for (int step = 0; step < 600 && !testing::Test::HasFailure(); ++step) {
      ++now_;
      OneEvent();
      if (Below(3) != 0) Decide();
    }
    if (testing::Test::HasFailure()) return;
    for (std::uint32_t n = 0; n < kNodes; ++n) Join(n);
    for (int round = 0; round < 2000 && !engine_.state().LiveJobs().empty(); ++round) {
      ++now_;
      Decide();
      for (const auto& paused = engine_.state().Paused(); Running().empty() && !paused.empty(); Decide()) {
        now_ = paused.begin()->first;
      }
      ASSERT_FALSE(Running().empty()) << "jobs live and nothing runs";
      for (const AttemptId& attempt : Running()) (void)engine_.Apply(now_, AttemptSucceeded{attempt}, &effects_);
    }
    EXPECT_TRUE(engine_.state().LiveJobs().empty());
  }

 private:
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  void Join(std::uint32_t n) {
    (void)engine_.Apply(now_, NodeJoined{NodeId{n}, "r", "d" + std::to_string(n % kCenters), {2, 1}}, &effects_);
  }
  std::vector<AttemptId> Running() const {
    std::vector<AttemptId> all;
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      for (const AttemptId& attempt : engine_.RunningOn(NodeId{n})) all.push_back(attempt);
    }
    return all;
  }
  Event Submission() {
    JobSpec spec;
    spec.maps.resize(Below(10));
    for (MapInput& map : spec.maps) {
      map.replicas.resize(1 + Below(3));
      for (NodeId& node : map.replicas) node.value = Below(kNodes);
    }
    spec.reduces = Below(4);
    spec.priority = static_cast<Priority>(Below(5));
    spec.slow_start = Below(3) / 2.0;
    spec.max_attempts = 20;
    if (Below(4) != 0) spec.profile = {1, 10, 10, Below(4) / 1.0};
    return JobSubmitted{{next_job_++}, spec};
  }
  TaskId AnyTask() { return {{1 + Below(next_job_)}, static_cast<TaskKind>(Below(2)), Below(10)}; }
  // As if a journal said that another policy had launched the task. It is refused unless the task is not done.
  Event Launch(const TaskId& task) {
    const JobState* job = engine_.state().FindJob(task.job);
    const bool known = job != nullptr && task.index < job->Tasks(task.kind).size();
    const NodeId node{Below(kNodes)};
    if (!engine_.state().FreeNodes(task.kind).Contains(node.value)) return NodeDrained{node, false};
    return AttemptLaunched{{task, known ? job->Tasks(task.kind)[task.index].launched : 0}, node};
  }
  Event Random() {
    const auto running = Running();
    const std::uint32_t node = Below(kNodes);
    switch (Below(running.empty() ? 10 : 20)) {
      case 5:
      case 6:
        return Launch(AnyTask());
      case 7:
        return JobPrioritySet{{1 + Below(next_job_)}, static_cast<Priority>(Below(5))};
      case 8:
        return ReplicasMoved{{AnyTask().job, TaskKind::kMap, Below(10)}, {NodeId{node}, NodeId{Below(kNodes)}}};
      case 9:
        return AttemptLost{{AnyTask(), Below(2)}, "its output is"};
      case 0:
        return NodeLost{NodeId{node}};
      case 1:
        return NodeDrained{NodeId{node}, Below(2) == 0};
      case 2:
        return NodeJoined{NodeId{node}, "r", "d" + std::to_string(node % kCenters), {2, 1}};
      case 3:
      case 4:
        return next_job_ <= kJobs ? Submission() : Event(NodeDrained{NodeId{node}, false});
      case 10:
      case 11:
        return AttemptFailed{running[Below(static_cast<std::uint32_t>(running.size()))], "x"};
      case 12:
      case 13:
        return AttemptLost{running[Below(static_cast<std::uint32_t>(running.size()))], "x"};
      default:
        return AttemptSucceeded{running[Below(static_cast<std::uint32_t>(running.size()))]};
    }
  }
  void OneEvent() { (void)engine_.Apply(now_, Random(), &effects_); }
  void Decide() {
    engine_.Decide(now_, &effects_);
    effects_.clear();
    CheckReached();
  }
  // Work that waits while slots of its kind are free in every datacenter that takes tasks would never be reached.
  void CheckReached() const {
    const ClusterState& state = engine_.state();
    for (const TaskKind kind : kTaskKinds) {
      if (state.FreeNodes(kind).size() == 0 || state.Running(kind) > 0) continue;
      for (const QueueKey& key : state.RunnableJobs(kind)) {
        for (const std::uint32_t node : state.FreeNodes(kind)) {
          ASSERT_TRUE(kind == TaskKind::kMap ? !state.BestPendingMap(key.job, NodeId{node})
                                             : !state.NextPendingReduce(key.job, NodeId{node}))
              << "job" << key.job.value << " waits and nothing of the kind runs, n" << node << " idles";
        }
      }
    }
  }

  std::mt19937 random_;
  Engine engine_;
  Effects effects_;
  Micros now_ = 0;
  std::uint32_t next_job_ = 1;
};

TEST(JossHistoryTest, NoTaskIsLostAndEveryDecisionIsThatOfTheReference) {
  const unsigned base = std::random_device()();
  for (const Joss::Assigner assigner : kAssigners) {
    for (unsigned round = 0; round < 100; ++round) {
      SCOPED_TRACE((assigner == Joss::Assigner::kTask ? "joss-t seed " : "joss-j seed ") +
                   std::to_string(base + round));
      ThreeDatacenters(assigner, base + round).Play();
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(JossHistoryTest, AnyHistoryIsDecidedAsByTheReference) {
  const unsigned base = std::random_device()();
  int decisions = 0;
  for (unsigned round = 0; round < 300; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options{"joss", {}, false};
    JossSettings settings;
    if (round % 3 == 0) settings.default_ratio = round % 2 == 0 ? 1 : 3;  // no job is unknown
    options.make = [&] { return std::make_unique<ComparedJoss>(kAssigners[round % 2], settings); };
    History history(base + round, options);
    for (int step = 0; step < 300 && !HasFailure(); ++step) history.Step();
    ASSERT_FALSE(HasFailure());
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
    decisions += dynamic_cast<const ComparedJoss&>(history.engine().policy()).decisions();
  }
  EXPECT_GT(decisions, 10000);
}

}  // namespace
}  // namespace millrace::sched
