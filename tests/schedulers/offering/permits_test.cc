// SPDX-License-Identifier: Apache-2.0
// The order of a policy holds for compute permits, whatever is added to it and whatever happens.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"

namespace millrace::sched {
namespace {

// The place of a job in the order of fifo, or of edf.
std::tuple<Micros, QueueKey> RankOf(const ClusterState& state, JobId id, bool by_deadline) {
  const JobState& job = *state.FindJob(id);
  QueueKey key = job.key;
  if (!by_deadline) return {0, key};
  key.priority = Priority::kNormal;
  return {job.spec.deadline > 0 ? job.spec.deadline : std::numeric_limits<Micros>::max(), key};
}

// Jobs of a few reduces come, their reduces copy, compute, end and get lost, all by chance.
class Reducing {
 public:
  Reducing(unsigned seed, const std::string& scheduler) : random_(seed), by_deadline_(scheduler.starts_with("edf")) {
    std::string why;
    engine_ = std::make_unique<Engine>(EngineOptions{}, MakePolicy(scheduler, Settings{}, &why));
    for (std::uint32_t n = 0; n < 3; ++n) Apply(NodeJoined{NodeId{n}, "r", "d", {0, 2}});
  }

  void Step() {
    now_ += Below(3);
    const std::uint32_t what = Below(8);
    if (what == 0 && engine_->state().LiveJobs().size() < 8) {
      JobSpec spec;
      spec.reduces = 1 + Below(6);
      spec.priority = static_cast<Priority>(Below(5));
      if (Below(2) == 0) spec.deadline = now_ + Below(1000);
      Apply(JobSubmitted{JobId{jobs_++}, spec});
    } else if (what == 1 && !running_.empty()) {
      Leave(Any(), true);
    } else if (what == 2 && jobs_ > 0) {
      Apply(JobPrioritySet{JobId{Below(jobs_)}, static_cast<Priority>(Below(5))});
    } else if (!running_.empty()) {
      const AttemptId reduce = Any();
      if (running_.at(reduce) == ReducePhase::kCopying) {
        Apply(ReduceCopied{reduce});
        running_[reduce] = ReducePhase::kCopied;
      } else if (running_.at(reduce) == ReducePhase::kComputing) {
        Leave(reduce, false);
      }
    }
    Decide();
  }

  [[nodiscard]] int over_others() const { return over_others_; }

 private:
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  AttemptId Any() { return std::next(running_.begin(), Below(static_cast<std::uint32_t>(running_.size())))->first; }
  void Apply(const Event& event) {
    Effects effects;
    (void)engine_->Apply(now_, event, &effects);
  }
  void Leave(const AttemptId& reduce, bool lost) {
    running_.erase(reduce);
    nodes_.erase(reduce);
    lost ? Apply(AttemptLost{reduce, "lost"}) : Apply(AttemptSucceeded{reduce});
  }
  void Decide() {
    Effects effects;
    engine_->Decide(now_, &effects);
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        running_[launch->attempt] = ReducePhase::kCopying;
        nodes_[launch->attempt] = launch->node;
      } else if (const auto* compute = std::get_if<Compute>(&effect)) {
        Grant(*compute);
      }
    }
  }
  // Of all that wait on the node none is of a job before this one.
  void Grant(const Compute& compute) {
    EXPECT_EQ(running_.at(compute.attempt), ReducePhase::kCopied);
    running_[compute.attempt] = ReducePhase::kComputing;
    const JobId job = compute.attempt.task.job;
    for (const auto& [other, phase] : running_) {
      if (phase != ReducePhase::kCopied || nodes_.at(other) != compute.node || other.task.job == job) continue;
      ++over_others_;
      EXPECT_LT(RankOf(engine_->state(), job, by_deadline_), RankOf(engine_->state(), other.task.job, by_deadline_))
          << ToText(compute.attempt) << " before " << ToText(other);
    }
  }

  std::mt19937 random_;
  const bool by_deadline_;
  std::unique_ptr<Engine> engine_;
  Micros now_ = 0;
  std::uint32_t jobs_ = 0;
  std::map<AttemptId, ReducePhase> running_;
  std::map<AttemptId, NodeId> nodes_;  // of those
  int over_others_ = 0;                // grants while another job waited on the node
};

class PermitOrder : public testing::TestWithParam<std::string> {};

TEST_P(PermitOrder, NoJobWaitsForAPermitThatGoesToALaterOne) {
  int over_others = 0;
  for (unsigned round = 0, base = std::random_device()(); round < 20 && !HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Reducing cluster(base + round, GetParam());
    for (int step = 0; step < 2000 && !HasFailure(); ++step) cluster.Step();
    over_others += cluster.over_others();
  }
  EXPECT_GT(over_others, 500) << "permits had to be given to one of several jobs";
}

INSTANTIATE_TEST_SUITE_P(Orders, PermitOrder,
                         testing::Values("fifo+ccs", "fifo+delay+ccs", "edf+ccs", "edf+delay+ccs", "dl+ccs",
                                         "lsap+ccs"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '+' ? '_' : c;
                           return name;
                         });

// Three pools with more reduces than there are permits, on every node; reduces end by chance, some at a time. A permit
// goes to the pool with the fewest for its weight, so no pool has one that another, which has fewer for its weight even
// without it, should have had. (The shares themselves may be missed by more than a slot: of 20 permits at weights 1, 1
// and 4 the shares are 3.3, 3.3 and 13.3, and 4, 4 and 12 is as even as it gets by this rule.)
TEST(PermitShares, NoPoolHasAPermitThatAnotherShouldHave) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::uint32_t kNodes = 4, kSlots = 5;
  for (const char* scheduler : {"fair+ccs", "fair+delay+ccs", "fair+ccs+preempt"}) {
    SCOPED_TRACE(scheduler);
    Settings settings;
    settings.Of<CcsSettings>().max_reducers = 6;  // room for three jobs that compute and copy
    std::vector<std::uint32_t> weights;
    for (const char* pool : {"p0", "p1", "p2"}) {
      weights.push_back(1 + random() % 4);
      settings.Named<PoolSettings>()[pool].weight = weights.back();
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
      const auto has = [&](std::uint32_t job) {
        return engine.state().FindJob(JobId{job})->running_attempts[kComputePermit];
      };
      for (std::uint32_t a = 0; a < 3; ++a) {
        for (std::uint32_t b = 0; b < 3; ++b) {
          if (has(a) == 0 || a == b) continue;
          ASSERT_LE((has(a) - 1) * weights[b], has(b) * weights[a])
              << "pool " << a << " and pool " << b << " in round " << round << ": " << has(a) << " and " << has(b)
              << " at weights " << weights[a] << " and " << weights[b];
        }
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
