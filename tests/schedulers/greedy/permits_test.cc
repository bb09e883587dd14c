// The order of a policy holds for compute permits, whatever is added to it and whatever happens.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/journal/event_text.h"
#include "schedulers/offering/ccs_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/history.h"

namespace millrace::sched {
namespace {

class Idle : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "idle"; }
  std::optional<AttemptId> NextToCompute(const ClusterState&, Micros) override { return std::nullopt; }
  std::optional<Decision> Next(const ClusterState&, Micros) override { return std::nullopt; }
};

// The place of a job in the order of fifo, or of edf.
std::tuple<Micros, QueueKey> RankOf(const ClusterState& state, JobId id, bool by_deadline) {
  const JobState& job = *state.FindJob(id);
  QueueKey key = job.key;
  if (!by_deadline) return {0, key};
  key.priority = Priority::kNormal;
  return {job.spec.deadline > 0 ? job.spec.deadline : std::numeric_limits<Micros>::max(), key};
}

class PermitOrder : public testing::TestWithParam<std::string> {};

TEST_P(PermitOrder, NoJobWaitsForAPermitThatGoesToALaterOne) {
  const bool by_deadline = GetParam().starts_with("edf");
  int granted = 0, over_others = 0;
  for (unsigned round = 0, base = std::random_device()(); round < 40; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options;
    options.scheduler = GetParam();
    options.conserving = false;
    History history(base + round, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    // The events and decisions one by one, to an engine that decides nothing.
    Engine engine(options.engine, std::make_unique<Idle>());
    for (const History::Record& record : history.records()) {
      Effects effects;
      if (record.line == History::kDecide) {
        engine.Decide(record.time, &effects);
        continue;
      }
      const auto timed = ParseEvent(record.line);
      const auto* grant = std::get_if<ComputeGranted>(&timed->event);
      if (grant != nullptr) {
        ++granted;
        const ClusterState& state = engine.state();
        const TaskId& task = grant->attempt.task;
        const NodeId node = state.FindJob(task.job)->reduces[task.index].Find(grant->attempt.number)->node;
        for (const QueueKey& other : state.LiveJobs()) {
          for (const CopiedReduce& waiting : state.FindJob(other.job)->copied_reduces) {
            if (waiting.node != node || other.job == task.job) continue;
            ++over_others;
            EXPECT_LT(RankOf(state, task.job, by_deadline), RankOf(state, other.job, by_deadline)) << record.line;
          }
        }
      }
      (void)engine.Apply(timed->time, timed->event, &effects);
    }
  }
  EXPECT_GT(granted, 500);
  EXPECT_GT(over_others, 20) << "some had to choose";
}

INSTANTIATE_TEST_SUITE_P(Orders, PermitOrder,
                         testing::Values("fifo+ccs", "fifo+delay+ccs", "edf+ccs", "edf+delay+ccs", "dl+ccs", "lsap+ccs"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '+' ? '_' : c;
                           return name;
                         });

// Three pools with more reduces than there are permits, on every node; reduces end by chance, some at a time.
TEST(PermitShares, AreWithinASlotOfTheFairOnes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::uint32_t kNodes = 4, kSlots = 5;
  for (const char* scheduler : {"fair+ccs", "fair+delay+ccs", "fair+ccs+preempt"}) {
    SCOPED_TRACE(scheduler);
    Settings settings;
    settings.Of<CcsSettings>().max_reducers = 6;  // room for three jobs that compute and copy
    std::vector<double> weights;
    double sum = 0;
    for (const char* pool : {"p0", "p1", "p2"}) {
      weights.push_back(1 + random() % 4);
      settings.Named<PoolSettings>()[pool].weight = weights.back();
      sum += weights.back();
    }
    std::string why;
    Engine engine({}, MakePolicy(scheduler, settings, &why));
    Micros now = 0;
    Effects effects;
    for (std::uint32_t n = 0; n < kNodes; ++n)
      ASSERT_TRUE(engine.Apply(now, NodeJoined{NodeId{n}, "r", "d", {0, kSlots}}, &effects));
    for (std::uint32_t job = 0; job < 3; ++job) {
      JobSpec spec;
      spec.user = "p" + std::to_string(job);
      spec.reduces = 2000;
      ASSERT_TRUE(engine.Apply(now, JobSubmitted{JobId{job}, spec}, &effects));
    }
    std::vector<AttemptId> computing;
    const auto settle = [&] {
      for (bool more = true; more;) {
        effects.clear();
        engine.Decide(now, &effects);
        more = !effects.empty();
        for (const Effect& effect : Effects(effects)) {
          if (const auto* compute = std::get_if<Compute>(&effect)) computing.push_back(compute->attempt);
          if (const auto* launch = std::get_if<Launch>(&effect)) {
            ASSERT_TRUE(engine.Apply(now, ReduceCopied{launch->attempt}, &effects));
          }
          ASSERT_FALSE(std::holds_alternative<Preempt>(effect)) << "nobody is starved";
        }
      }
    };
    for (int round = 0; round < 200; ++round) {
      settle();
      ASSERT_EQ(computing.size(), kNodes * kSlots);
      for (std::uint32_t job = 0; job < 3; ++job) {
        const double share = kNodes * kSlots * weights[job] / sum;
        const double has = engine.state().FindJob(JobId{job})->running_attempts[kComputePermit];
        EXPECT_LE(std::abs(has - share), 1) << "pool " << job << " in round " << round;
      }
      ++now;
      for (std::uint32_t ends = 1 + random() % 4; ends > 0; --ends) {
        const std::size_t at = random() % computing.size();
        ASSERT_TRUE(engine.Apply(now, AttemptSucceeded{computing[at]}, &effects));
        computing.erase(computing.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }
}

}  // namespace
}  // namespace millrace::sched
