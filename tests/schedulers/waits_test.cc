// SPDX-License-Identifier: Apache-2.0
// Tests the reasons why jobs wait: those of Engine::View hold, and a job whose named causes are lifted, one after the
// other, starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/policies/simple/edf.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

struct WaitingUnder {
  explicit WaitingUnder(const char* name, bool within_pools = false)
      : scheduler(name), preempts_within_pools(within_pools) {}
  std::string scheduler;
  bool preempts_within_pools;
};

Settings SettingsOfWaits(const WaitingUnder& under) {
  Settings settings;
  settings.Of<FairSettings>().preempt_within_pools = under.preempts_within_pools;
  if (under.preempts_within_pools) {
    settings.Of<FairSettings>().min_share_timeout = kSecond;
    settings.Of<FairSettings>().fair_share_timeout = kSecond;
  }
  settings.Named<PoolSettings>()["a"].max_maps = 2;
  settings.Named<PoolSettings>()["a"].max_reduces = 1;
  settings.Named<PoolSettings>()["b"].max_running_jobs = 1;
  settings.Named<PoolSettings>()["c"].max_running_jobs_of_user = 1;
  settings.Of<FreshSettings>().k = 2;
  settings.Of<EdfSettings>().exclusive = true;
  return settings;
}

// A small cluster in two datacenters on which jobs come and tasks end by chance.
class Waiting {
 public:
  Waiting(unsigned seed, const WaitingUnder& under) : random_(seed) {
    std::string why;
    engine_ = std::make_unique<Engine>(EngineOptions{}, MakePolicy(under.scheduler, SettingsOfWaits(under), &why));
    for (std::uint32_t n = 0; n < 4; ++n) Join({2, 1});
  }

  void Step() {
    now_ += Below(3) * kSecond / 4;
    const std::uint32_t what = Below(6);
    if (what < 2 && state().LiveJobs().size() < 6) {
      Submit();
    } else if (what == 2 && !running_.empty()) {
      End(std::next(running_.begin(), Below(Size(running_)))->first, Below(3) == 0);
    } else if (!running_.empty()) {
      const AttemptId attempt = std::next(running_.begin(), Below(Size(running_)))->first;
      attempt.task.kind == TaskKind::kReduce ? Proceed(attempt) : End(attempt, false);
    }
    if (jobs_ > 0 && Below(8) == 0) HoldOrRelease(JobId{Below(jobs_)});
    Decide();
  }

  // Checks each wait against the state.
  void Check() const {
    const PolicyView view = engine_->View(now_);
    std::map<std::pair<JobId, SlotKind>, const WaitView*> told;
    for (const WaitView& wait : view.waits) {
      SCOPED_TRACE(ToText(wait.job) + ": " + InWords(wait, state(), now_, view.group_noun));
      EXPECT_TRUE(told.insert({{wait.job, wait.slot}, &wait}).second) << "told twice";
      EXPECT_NE(wait.cause, WaitCause::kUndecided);
      const JobState& job = *state().FindJob(wait.job);
      const bool permit = wait.slot == kComputePermit;
      const bool free = !permit && !state().FreeNodes(wait.slot.task()).empty();
      switch (wait.cause) {
        case WaitCause::kNoSlots:
          EXPECT_EQ(state().Capacity(wait.slot), 0U);
          break;
        case WaitCause::kSlotsBusy:
          EXPECT_FALSE(free);
          if (permit) {
            EXPECT_EQ(job.may_compute, 0U);
            EXPECT_GE(wait.used, wait.of);
          } else {
            EXPECT_EQ(wait.of, state().Capacity(wait.slot));
          }
          break;
        case WaitCause::kCrowded:
          EXPECT_FALSE(free);
          EXPECT_LT(wait.used, wait.of);
          break;
        case WaitCause::kFarFromData:
          EXPECT_TRUE(free && !job.pending_maps.all().empty());
          break;
        case WaitCause::kGroupFull:
        case WaitCause::kGroupJobs:
        case WaitCause::kUserJobs:
          EXPECT_GE(wait.used, wait.of);
          break;
        case WaitCause::kMapsFirst:
          EXPECT_EQ(wait.used, job.progress.maps_done);
          EXPECT_LT(wait.used, wait.of);
          break;
        case WaitCause::kPhaseFull:
          EXPECT_EQ(wait.used, wait.of);
          break;
        case WaitCause::kPaused:
          EXPECT_GT(*wait.until, now_);
          break;
        case WaitCause::kOnHold:
          EXPECT_TRUE(job.on_hold && !job.started);
          break;
        case WaitCause::kRunsAlone:
          EXPECT_NE(wait.others.front(), wait.job);
          break;
        default:
          EXPECT_TRUE(free);
          break;
      }
    }
    for (const SlotKind kind : kSlotKinds) {
      for (const QueueKey& key : state().RunnableJobs(kind)) {
        EXPECT_TRUE(told.contains({key.job, kind})) << ToText(key.job) << " waits, and nobody says why";
      }
    }
  }

  // Lifts what the view names for one of the waits, again and again, until the job gets a slot or permit of that kind.
  void LiftOne() {
    const PolicyView first = engine_->View(now_);
    if (first.waits.empty()) return;
    const WaitView& chosen = first.waits[Below(Size(first.waits))];
    const auto [job, slot] = std::pair(chosen.job, chosen.slot);
    std::string told;
    for (int round = 0; round < 200; ++round) {
      const PolicyView view = engine_->View(now_);
      const WaitView* wait = nullptr;
      for (const WaitView& one : view.waits) {
        if (one.job == job && one.slot == slot) wait = &one;
      }
      if (wait == nullptr) return;  // it has all that it can use
      const std::string said = "\n  " + InWords(*wait, state(), now_, view.group_noun);
      if (!told.ends_with(said)) told += said;
      got_ = {};
      Lift(*wait);
      Decide();
      if (got_.contains({job, slot})) return;
    }
    FAIL() << ToText(job) << " does not start, whatever is lifted:" << told;
  }

 private:
  [[nodiscard]] const ClusterState& state() const { return engine_->state(); }
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  template <class T>
  static std::uint32_t Size(const T& list) {
    return static_cast<std::uint32_t>(list.size());
  }
  void Apply(const Event& event) {
    Effects effects;
    (void)engine_->Apply(now_, event, &effects);
    Note(effects);
  }
  void Decide() {
    Effects effects;
    engine_->Decide(now_, &effects);
    Note(effects);
  }
  void Note(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        running_[launch->attempt] = ReducePhase::kCopying;
        got_.insert({launch->attempt.task.job, launch->attempt.task.kind});
      } else if (const auto* compute = std::get_if<Compute>(&effect)) {
        running_[compute->attempt] = ReducePhase::kComputing;
        got_.insert({compute->attempt.task.job, kComputePermit});
      } else if (const auto* kill = std::get_if<Kill>(&effect)) {
        running_.erase(kill->attempt);
      } else if (const auto* preempt = std::get_if<Preempt>(&effect)) {
        running_.erase(preempt->attempt);
      }
    }
  }
  void Join(Slots slots) {
    const std::string datacenter = nodes_ % 2 == 0 ? "east" : "west";
    Apply(NodeJoined{NodeId{nodes_++}, "rack-" + datacenter, datacenter, slots});
  }
  void Submit() {
    JobSpec spec;
    spec.pool = std::string(1, static_cast<char>('a' + Below(3)));
    spec.user = Below(2) == 0 ? "ann" : "bob";
    for (std::uint32_t map = Below(6); map > 0; --map) {
      spec.maps.push_back({64, Below(4) == 0 ? std::vector<NodeId>{} : std::vector<NodeId>{NodeId{Below(4)}}});
    }
    spec.reduces = Below(4) + (spec.maps.empty() ? 1 : 0);
    spec.slow_start = Below(3) / 2.0;
    spec.priority = static_cast<Priority>(Below(5));
    if (Below(2) == 0) spec.deadline = now_ + Below(1000) * kSecond;
    spec.max_attempts = 1000;
    Apply(JobSubmitted{JobId{jobs_++}, spec});
  }
  void HoldOrRelease(JobId id) {
    const JobState* job = state().FindJob(id);
    if (job != nullptr && job->alive() && !job->started) Apply(JobHeld{id, !job->on_hold});
  }
  void Proceed(const AttemptId& reduce) {
    if (running_.at(reduce) == ReducePhase::kCopying) {
      if (state().FindJob(reduce.task.job)->progress.maps_done < state().FindJob(reduce.task.job)->progress.maps)
        return;
      running_[reduce] = ReducePhase::kCopied;
      Apply(ReduceCopied{reduce});
    } else if (running_.at(reduce) == ReducePhase::kComputing) {
      End(reduce, false);
    }
  }
  void End(AttemptId attempt, bool failed) {
    running_.erase(attempt);
    failed ? Apply(AttemptFailed{attempt, "by chance"}) : Apply(AttemptSucceeded{attempt});
  }
  // Ends the running maps of the job, or lets its reduces go on.
  void Finish(JobId job, TaskKind kind) {
    const std::map<AttemptId, ReducePhase> running = running_;
    for (const auto& [attempt, phase] : running) {
      if (attempt.task.job != job || attempt.task.kind != kind || !running_.contains(attempt)) continue;
      kind == TaskKind::kMap ? End(attempt, false) : Proceed(attempt);
    }
  }
  // A reduce that is in the way, or is to start, may wait for maps of the job that wait themselves.
  void LiftMaps(const WaitView& reduces) {
    if (reduces.slot == kMapSlot) return;
    for (const WaitView& maps : engine_->View(now_).waits) {
      if (maps.job == reduces.job && maps.slot == kMapSlot) return Lift(maps);
    }
  }
  void Lift(const WaitView& wait) {
    switch (wait.cause) {
      case WaitCause::kFarFromData:
      case WaitCause::kGathering:
      case WaitCause::kPaused:
        now_ = std::max(now_, wait.until.value_or(now_));
        if (!wait.until) Join({4, 4});
        break;
      case WaitCause::kMapsFirst:
        Finish(wait.job, TaskKind::kMap);
        LiftMaps(wait);
        break;
      case WaitCause::kGroupFull:
      case WaitCause::kGroupJobs:
      case WaitCause::kUserJobs:
      case WaitCause::kRunsAlone:
      case WaitCause::kPhaseFull:
      case WaitCause::kGaveWay:
        for (std::uint32_t id = 0; id < jobs_; ++id) {
          const JobState* other = state().FindJob(JobId{id});
          if (JobId{id} == wait.job || other == nullptr || !other->alive()) continue;
          if (wait.cause == WaitCause::kRunsAlone && JobId{id} != wait.others.front()) continue;
          Apply(JobKilled{JobId{id}, "to see whether it was in the way"});
        }
        for (const TaskKind kind : kTaskKinds) Finish(wait.job, kind);
        LiftMaps(wait);
        break;
      case WaitCause::kOnHold:
        Apply(JobHeld{wait.job, false});
        break;
      case WaitCause::kSlotsBusy:
        if (wait.slot == kComputePermit) {
          const std::map<AttemptId, ReducePhase> running = running_;
          for (const auto& [attempt, phase] : running) {
            if (phase == ReducePhase::kComputing) End(attempt, false);
          }
          break;
        }
        [[fallthrough]];
      default:
        Join({50, 50});
        Join({50, 50});
        break;
    }
  }

  std::mt19937 random_;
  std::unique_ptr<Engine> engine_;
  Micros now_ = kSecond;
  std::uint32_t jobs_ = 0, nodes_ = 0;
  std::map<AttemptId, ReducePhase> running_;
  std::set<std::pair<JobId, SlotKind>> got_;  // since the last Lift
};

class WaitsOf : public testing::TestWithParam<WaitingUnder> {};

TEST_P(WaitsOf, HoldAndLiftedLetTheJobStart) {
  for (unsigned round = 0, base = std::random_device()(); round < 40 && !HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Waiting cluster(base + round, GetParam());
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      cluster.Step();
      cluster.Check();
    }
    cluster.LiftOne();
  }
}

INSTANTIATE_TEST_SUITE_P(Schedulers, WaitsOf,
                         testing::Values("fifo", "fair", "capacity", "sjf", "mlq", "edf", "dl", "cp", "las", "psbs",
                                         "uwfq", "karma", "integral", "lsap", "lsap-uniform", "lsap-fair",
                                         "fresh-static", "fresh-dynamic", "joss-t", "joss-j", "fifo+delay+ccs",
                                         "fair+delay+ccs+preempt", "capacity+ccs", "edf+ccs", "las+ccs", "psbs+ccs",
                                         "uwfq+delay+ccs", "karma+ccs", "integral+ccs", "fair+memory+ccs", "dl+delay",
                                         "lsap+delay", "cp+ccs", WaitingUnder("fair+preempt", true),
                                         WaitingUnder("fair+delay+ccs+preempt", true)),
                         [](const auto& of) {
                           std::string name = of.param.scheduler;
                           for (char& letter : name)
                             letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
                           return of.param.preempts_within_pools ? name + "_within_pools" : name;
                         });

// Plays the script under the scheduler and returns in words why the job waits for such a slot; times in us.
std::string Why(const std::string& scheduler, const Settings& settings, std::string_view script, JobId job,
                SlotKind slot) {
  std::string why;
  Engine engine({}, MakePolicy(scheduler, settings, &why));
  Play(&engine, script);
  const PolicyView view = engine.View(4);
  for (const WaitView& wait : view.waits) {
    if (wait.job == job && wait.slot == slot) return InWords(wait, engine.state(), 4, view.group_noun);
  }
  return "nothing is said";
}

constexpr std::string_view kThreeJobs = R"(
  0 NodeJoined node=n1 maps=2
  1 JobSubmitted job=job1 name=logs pool=a maps=1:;1:;1:
  1 decide
  2 JobSubmitted job=job2 name=ads pool=b priority=HIGH maps=1:
  2 JobSubmitted job=job3 pool=b maps=1:
  2 decide
)";

TEST(WaitsInWords, WhoIsAhead) {
  EXPECT_EQ(Why("fifo", {}, kThreeJobs, JobId{3}, kMapSlot),
            "all 2 map slots are busy; 2 jobs are ahead (job2 ads HIGH, job1 logs)");
  EXPECT_EQ(Why("fifo", {}, kThreeJobs, JobId{2}, kMapSlot),
            "all 2 map slots are busy; the next to become free is offered to it first");
  EXPECT_EQ(Why("dl", {}, kThreeJobs, JobId{2}, kMapSlot),
            "all 2 map slots are busy; the next to become free goes to the pending map that is closest to it");
}

TEST(WaitsInWords, WhatItsGroupHas) {
  EXPECT_EQ(Why("fair", {}, kThreeJobs, JobId{1}, kMapSlot),
            "all 2 map slots are busy; 2 jobs are ahead (job2 ads HIGH, job3); pool a has 2 of its share of 1");
  Settings settings;
  settings.Named<QueueSettings>()["a"].capacity = 100;
  EXPECT_EQ(Why("capacity", settings, kThreeJobs, JobId{2}, kMapSlot),
            "all 2 map slots are busy; 1 job is ahead (job1 logs); queue default has no share of them");
}

// The slot that frees comes from somebody. Of two pools with two slots each, one at its maximum, the one that loses a
// map is due the next.
TEST(WaitsInWords, WhoGetsTheNextThatFrees) {
  constexpr std::string_view kTwoPools = R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=ann maps=1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=bob maps=1:;1:;1:;1:
    1 decide
  )";
  Settings settings;
  settings.Named<PoolSettings>()["bob"].max_maps = 2;
  EXPECT_EQ(
      Why("fair", settings, kTwoPools, JobId{1}, kMapSlot),
      "all 4 map slots are busy; it is first in order now; it gets the next to become free if that is one of pool ann; "
      "pool ann has 2 of its share of 2");
  EXPECT_EQ(Why("fair", settings, kTwoPools, JobId{2}, kMapSlot), "pool bob runs 2 of at most 2 maps");
  // Without the maximum bob's job is behind in order, and gets what bob loses all the same.
  EXPECT_EQ(
      Why("fair", {}, kTwoPools, JobId{2}, kMapSlot),
      "all 4 map slots are busy; 1 job is ahead (job1); it gets the next to become free if that is one of pool bob; "
      "pool bob has 2 of its share of 2");
}

// The one that waits for a permit is not the one that holds it, and need not be the next to have it.
TEST(WaitsInWords, WhoGetsTheNextPermit) {
  constexpr std::string_view kThreeReduces = R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 name=logs reduces=1
    1 JobSubmitted job=job2 reduces=1
    1 JobSubmitted job=job3 priority=HIGH reduces=1
    1 decide
    2 ReduceCopied attempt=job3.r.0.0
    2 decide
    3 ReduceCopied attempt=job1.r.0.0
    3 ReduceCopied attempt=job2.r.0.0
    3 decide
  )";
  EXPECT_EQ(Why("fifo+ccs", {}, kThreeReduces, JobId{1}, kComputePermit),
            "it has copied its input; the only compute permit of its nodes is busy (job3 HIGH)");
  EXPECT_EQ(
      Why("fifo+ccs", {}, kThreeReduces, JobId{2}, kComputePermit),
      "it has copied its input; the only compute permit of its nodes is busy (job3 HIGH); the next to become free goes "
      "to job1 logs");
}

// While a map runs that may let reduces of others start, who gets the next slot of a reduce is not known.
TEST(WaitsInWords, ReducesThatMayStartBeforeASlotFrees) {
  constexpr std::string_view kScript = R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 reduces=2
    1 JobSubmitted job=job2 priority=HIGH maps=1: reduces=1
    1 decide
  )";
  EXPECT_EQ(Why("fifo", {}, kScript, JobId{1}, kReduceSlot), "the only reduce slot is busy; it is first in order now");
  EXPECT_EQ(Why("fifo", {}, std::string(kScript) + "2 AttemptSucceeded attempt=job2.m.0.0\n2 decide\n", JobId{2},
                kReduceSlot),
            "the only reduce slot is busy; the next to become free is offered to it first");
}

TEST(WaitsInWords, WhoHoldsThePermits) {
  constexpr std::string_view kTwoReduces = R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 name=logs reduces=1
    1 JobSubmitted job=job2 reduces=1
    1 decide
    2 ReduceCopied attempt=job1.r.0.0
    2 decide
    3 ReduceCopied attempt=job2.r.0.0
    3 decide
  )";
  EXPECT_EQ(Why("fifo+ccs", {}, kTwoReduces, JobId{2}, kComputePermit),
            "it has copied its input; the only compute permit of its nodes is busy (job1 logs)");
}

TEST(WaitsInWords, ReducesWaitForMaps) {
  EXPECT_EQ(Why("fifo", {}, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1: reduces=1 slow_start=0.25
    1 decide
  )",
                JobId{1}, kReduceSlot),
            "0 of its maps are done; its reduces start when 3 are");
}

// Under some policies reduces start when all maps are done, whatever the job's slow start.
TEST(WaitsInWords, ReducesWaitForAsManyMapsAsThePolicySays) {
  for (const char* scheduler : {"cp", "cp+ccs", "fresh-static", "fresh-dynamic"}) {
    SCOPED_TRACE(scheduler);
    EXPECT_EQ(Why(scheduler, {}, R"(
      0 NodeJoined node=n1 maps=1 reduces=1
      1 JobSubmitted job=job1 maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1: reduces=1 slow_start=0.25
      1 decide
    )",
                  JobId{1}, kReduceSlot),
              "0 of its maps are done; its reduces start when 10 are");
  }
}

}  // namespace
}  // namespace millrace::sched
