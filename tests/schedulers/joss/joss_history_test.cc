// Random jobs on three datacenters whose nodes come, go and fail tasks: no task is lost, and no node idles while its
// datacenter has a task that it may run.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 9, kCenters = 3, kJobs = 20;

class ThreeDatacenters {
 public:
  ThreeDatacenters(const std::string& name, unsigned seed) : random_(seed), engine_({}, Make(name)) {
    for (std::uint32_t n = 0; n < kNodes; ++n) Join(n);
  }

  void Play() {
    for (int step = 0; step < 600 && !testing::Test::HasFatalFailure(); ++step) {
      ++now_;
      OneEvent();
      Decide();
    }
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
  static std::unique_ptr<Policy> Make(const std::string& name) {
    std::string why;
    return MakePolicy(name, {}, &why);
  }
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
    spec.slow_start = Below(3) / 2.0;
    spec.max_attempts = 20;
    if (Below(4) != 0) spec.profile = {1, 10, 10, Below(4) / 1.0};
    return JobSubmitted{{next_job_++}, spec};
  }
  Event Random() {
    const auto running = Running();
    const std::uint32_t node = Below(kNodes);
    switch (Below(running.empty() ? 5 : 12)) {
      case 0:
        return NodeLost{NodeId{node}};
      case 1:
        return NodeDrained{NodeId{node}, Below(2) == 0};
      case 2:
        return NodeJoined{NodeId{node}, "r", "d" + std::to_string(node % kCenters), {2, 1}};
      case 3:
      case 4:
        return next_job_ <= kJobs ? Submission() : Event(NodeDrained{NodeId{node}, false});
      case 5:
        return AttemptFailed{running[Below(static_cast<std::uint32_t>(running.size()))], "x"};
      case 6:
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

TEST(JossHistoryTest, NoTaskIsLost) {
  const unsigned base = std::random_device()();
  for (const std::string name : {"joss-t", "joss-j"}) {
    for (unsigned round = 0; round < 40; ++round) {
      SCOPED_TRACE(name + " seed " + std::to_string(base + round));
      ThreeDatacenters(name, base + round).Play();
      ASSERT_FALSE(HasFailure());
    }
  }
}

}  // namespace
}  // namespace millrace::sched
