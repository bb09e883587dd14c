// SPDX-License-Identifier: Apache-2.0
// The view's statement about the next slot to become free is what happens next: under every scheduler of the catalog,
// with every part that it takes, tasks of many lengths end one after the other, and whoever is said to get the next
// slot gets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/policies/simple/karma.h"
#include "tests/schedulers/every_scheduler.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 6;
constexpr std::uint32_t kSamples = 1000;  // of each scheduler, at least

Settings SettingsOfSamples() {
  Settings settings;
  settings.Named<PoolSettings>()["a"].weight = 3;
  settings.Named<PoolSettings>()["b"].min_maps = 2;
  settings.Named<PoolSettings>()["c"].max_maps = 5;
  settings.Named<PoolSettings>()["c"].max_running_jobs = 2;
  settings.Named<PoolSettings>()["a"].integral = IntegralKind::kBurst;
  settings.Named<PoolSettings>()["a"].flow_maps = 2, settings.Named<PoolSettings>()["a"].burst_maps = 4;
  settings.Named<PoolSettings>()["b"].integral = IntegralKind::kRelaxed;
  settings.Named<PoolSettings>()["b"].flow_maps = 3, settings.Named<PoolSettings>()["b"].flow_reduces = 2;
  settings.Named<QueueSettings>()["a"].capacity = 50;
  settings.Named<QueueSettings>()["b"].capacity = 30;
  settings.Named<QueueSettings>()["b"].max_capacity = 60;
  settings.Named<QueueSettings>()["c"].capacity = 20;
  settings.Of<CpSettings>().evaluations = 30;
  settings.Of<KarmaSettings>().quantum = 600 * kSecond;  // a plan changes who is next, and the view cannot know it
  return settings;
}

// Counts of right and wrong sentences.
struct Score {
  std::uint32_t right = 0, wrong = 0;
  std::vector<std::string> misses;
};

// A cluster on which jobs come and tasks end at times of their own.
class Cluster {
 public:
  Cluster(unsigned seed, const std::string& scheduler, Score* score) : seed_(seed), random_(seed), score_(*score) {
    std::string why;
    auto policy = MakePolicy(scheduler, SettingsOfSamples(), &why);
    if (policy == nullptr) throw std::invalid_argument(why);
    engine_ = std::make_unique<Engine>(EngineOptions{}, std::move(policy));
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      const std::string center = n % 2 == 0 ? "east" : "west";
      Apply(NodeJoined{NodeId{n}, center + std::to_string(n % 4), center, {2, 1}});
    }
  }

  // Plays until so many tasks have ended.
  void Play(std::uint32_t tasks) {
    while (ended_ < tasks) {
      const bool comes = next_arrival_ <= NextEnd();
      const std::optional<Micros> wake = engine_->NextWake();
      if (wake && *wake > now_ && *wake < std::min(next_arrival_, NextEnd())) {
        now_ = *wake;
        Decide();
      } else if (comes) {
        now_ = next_arrival_;
        Submit();
        claims_.clear();  // who comes was not known
        Decide();
      } else {
        EndNext();
      }
      if (Below(3) == 0) Look();
    }
  }

 private:
  // The statement about the next slot of a kind.
  struct Claim {
    std::string said;
    JobId job;
    NextFreed next;
    std::set<NodeId> nodes;  // whose permits it waits for
  };
  struct Claims {
    std::vector<Claim> of_jobs;
    std::map<JobId, std::string> groups;
    Micros at = 0;
  };
  struct End {
    AttemptId attempt;
    bool copied = false;  // the end of its copying
    auto operator<=>(const End&) const = default;
  };

  [[nodiscard]] const ClusterState& state() const { return engine_->state(); }
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  [[nodiscard]] Micros NextEnd() const { return ends_.empty() ? INT64_MAX : ends_.begin()->first; }

  void Apply(const Event& event) {
    Effects effects;
    EXPECT_TRUE(engine_->Apply(now_, event, &effects));
    Note(effects);
  }
  void Decide() {
    Effects effects;
    engine_->Decide(now_, &effects);
    Note(effects);
    Judge(effects);
  }

  void Note(const Effects& effects) {
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        const AttemptId& attempt = launch->attempt;
        if (attempt.task.kind == TaskKind::kMap) {
          Schedule({attempt}, TimeOf(attempt.task, launch->locality));
        } else {
          asks_[attempt] = launch->asks_to_compute;
          CopyIfMapsAreDone(attempt);
        }
      } else if (const auto* compute = std::get_if<Compute>(&effect)) {
        Schedule({compute->attempt}, TimeOf(compute->attempt.task, Locality::kOff));
      } else if (const auto* preempt = std::get_if<Preempt>(&effect)) {
        Forget(preempt->attempt);
      } else if (const auto* kill = std::get_if<Kill>(&effect)) {
        Forget(kill->attempt);
      }
    }
  }
  void Schedule(const End& end, Micros time) { ends_.insert({now_ + std::max<Micros>(time, 1), end}); }
  void Forget(const AttemptId& attempt) {
    asks_.erase(attempt);
    std::erase_if(ends_, [&](const auto& end) { return end.second.attempt == attempt; });
  }
  Micros TimeOf(const TaskId& task, Locality locality) {
    const Micros mean = mean_.at(task.job) * (task.kind == TaskKind::kMap ? 1 : 2);
    return mean / 2 + Below(static_cast<std::uint32_t>(mean)) + (locality == Locality::kNode ? 0 : mean / 4);
  }
  // A reduce copies for a while once all maps of its job are done.
  void CopyIfMapsAreDone(const AttemptId& reduce) {
    const JobProgress& job = state().FindJob(reduce.task.job)->progress;
    if (job.maps_done == job.maps && asks_.contains(reduce)) Schedule({reduce, true}, mean_.at(job.job) / 4);
  }

  void Submit() {
    const JobId id{jobs_++};
    JobSpec spec;
    spec.user = std::string(1, static_cast<char>('a' + Below(3)));
    if (Below(3) == 0) spec.pool = std::string(1, static_cast<char>('a' + Below(3)));
    for (std::uint32_t maps = 1 + Below(14); maps > 0; --maps) {
      MapInput& input = spec.maps.emplace_back(MapInput{64 << 20, {}});
      for (std::uint32_t replica = Below(8) == 0 ? 0 : 2; replica > 0; --replica) {
        const NodeId node{Below(kNodes)};
        if (std::ranges::find(input.replicas, node) == input.replicas.end()) input.replicas.push_back(node);
      }
    }
    spec.reduces = Below(4);
    spec.slow_start = Below(3) / 2.0;
    spec.priority = static_cast<Priority>(Below(3) == 0 ? Below(5) : 2);
    if (Below(2) == 0) spec.deadline = now_ + (20 + Below(400)) * kSecond;
    mean_[id] = (2 + Below(30)) * kSecond;
    Apply(JobSubmitted{id, spec});
    // About as much comes as the slots can do.
    next_arrival_ = now_ + (5 + Below(40)) * kSecond;
    if (state().LiveJobs().size() > 8) next_arrival_ += 120 * kSecond;
  }

  void EndNext() {
    const auto [time, end] = *ends_.begin();
    ends_.erase(ends_.begin());
    now_ = time;
    const AttemptId& attempt = end.attempt;
    const PerSlot<bool> was_free = FreeKinds(attempt);
    const NodeState& node = *state().FindNode(*at_);
    if (end.copied && (asks_.at(attempt) || node.used.reduces > node.Permits())) {
      asks_.erase(attempt);
      Apply(ReduceCopied{attempt});
    } else if (end.copied) {
      asks_.erase(attempt);
      Apply(ReduceComputing{attempt});
      Schedule({attempt}, TimeOf(attempt.task, Locality::kOff));
    } else {
      asks_.erase(attempt);
      Apply(AttemptSucceeded{attempt, 64 << 20, 64 << 20});
      ++ended_;
      freed_by_ = attempt;
      freed_ = FreeKinds(attempt);
      for (const SlotKind kind : kSlotKinds) freed_[kind] = freed_[kind] && !was_free[kind];
      const JobProgress& job = state().FindJob(attempt.task.job)->progress;
      if (attempt.task.kind == TaskKind::kMap && job.maps_done == job.maps) {
        const auto asks = asks_;
        for (const auto& [reduce, unused] : asks) {
          if (reduce.task.job == attempt.task.job) CopyIfMapsAreDone(reduce);
        }
      }
    }
    Decide();
    freed_ = {};
  }
  [[nodiscard]] PerSlot<bool> FreeKinds(const AttemptId& attempt) {
    PerSlot<bool> free = {};
    for (const TaskKind kind : kTaskKinds) free[kind] = !state().FreeNodes(kind).empty();
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      const NodeState& node = *state().FindNode(NodeId{n});
      if (std::ranges::find(node.running, attempt) != node.running.end()) at_ = NodeId{n};
    }
    if (at_) free[kComputePermit] = state().FindNode(*at_)->HasFreePermit();
    return free;
  }

  void Look() {
    const PolicyView view = engine_->View(now_);
    claims_.clear();
    for (const WaitView& wait : view.waits) {
      if (!wait.next) continue;
      Claims& claims = claims_[wait.slot];
      claims.at = now_;
      for (const GroupView& group : view.groups) {
        for (const JobId job : group.jobs) claims.groups[job] = group.name;
      }
      claims.of_jobs.push_back({InWords(wait, state(), now_, view.group_noun), wait.job, *wait.next, {}});
      if (wait.slot != kComputePermit) continue;
      for (const CopiedReduce& reduce : state().FindJob(wait.job)->copied_reduces)
        claims.of_jobs.back().nodes.insert(reduce.node);
    }
  }

  // Returns true if the view said that the job gets the task's slot; nothing if it said nothing.
  static std::optional<bool> Says(const Claim& claim, const Claims& claims, JobId from) {
    const NextFreed& next = claim.next;
    if (!next.all_tried()) return std::nullopt;
    if (next.to_it == 0 || next.to_it == next.tried) return next.to_it > 0;
    const auto has = [](const auto& list, const auto& one) { return std::ranges::find(list, one) != list.end(); };
    const auto group = claims.groups.find(from);
    if (group != claims.groups.end() && has(next.of_groups, group->second)) return true;
    if (group != claims.groups.end() && has(next.not_of_groups, group->second)) return false;
    if (has(next.of_jobs, from)) return true;
    if (has(next.not_of_jobs, from)) return false;
    return std::nullopt;
  }

  // Compares what was said with what the end of a task has led to.
  void Judge(const Effects& effects) {
    PerSlot<std::optional<JobId>> taken;
    for (const Effect& effect : effects) {
      if (std::holds_alternative<Preempt>(effect)) claims_.clear();  // that frees slots otherwise
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        auto& by = taken[launch->attempt.task.kind];
        if (!by) by = launch->attempt.task.job;
      } else if (const auto* compute = std::get_if<Compute>(&effect)) {
        if (!taken[kComputePermit]) taken[kComputePermit] = compute->attempt.task.job;
      }
    }
    for (const SlotKind kind : kSlotKinds) {
      const auto at = claims_.find(kind);
      if (at == claims_.end()) continue;
      if (!freed_[kind]) {
        if (taken[kind]) claims_.erase(at);
        continue;
      }
      const Claims claims = at->second;
      claims_.erase(at);
      bool any = false, wrong = false;
      std::string said;
      for (const Claim& claim : claims.of_jobs) {
        if (kind == kComputePermit && !claim.nodes.contains(*at_)) continue;
        const auto says = Says(claim, claims, freed_by_.task.job);
        any |= says.has_value();
        if (!says || *says == (taken[kind] == claim.job)) continue;
        wrong = true;
        said += "\n    " + ToText(claim.job) + ": " + claim.said;
      }
      if (!any) continue;
      ++(wrong ? score_.wrong : score_.right);
      if (!wrong) continue;
      score_.misses.push_back("seed " + std::to_string(seed_) + ", at " + std::to_string(now_) + " us, said " +
                              std::to_string(now_ - claims.at) + " us before: " + ToText(freed_by_) + " ended, and " +
                              (taken[kind] ? ToText(*taken[kind]) : "nobody") + " got it (" +
                              std::to_string(kind.index()) + ")" + said);
    }
  }

  const unsigned seed_;
  std::mt19937 random_;
  Score& score_;
  std::unique_ptr<Engine> engine_;
  Micros now_ = kSecond, next_arrival_ = kSecond;
  std::uint32_t jobs_ = 0, ended_ = 0;
  std::map<JobId, Micros> mean_;  // run times
  std::multimap<Micros, End> ends_;
  std::map<AttemptId, bool> asks_;  // reduces that copy: whether they ask for a permit
  std::map<SlotKind, Claims> claims_;
  AttemptId freed_by_;
  std::optional<NodeId> at_;
  PerSlot<bool> freed_ = {};
};

class NextFreedOf : public testing::TestWithParam<std::string> {};

TEST_P(NextFreedOf, GoesToWhomTheViewSays) {
  Score score;
  const char* base = std::getenv("MILLRACE_TEST_SEED");
  unsigned seed = base ? static_cast<unsigned>(std::stoul(base)) : 1;
  for (; score.right + score.wrong < kSamples; ++seed) {
    Cluster(seed, GetParam(), &score).Play(300);
    ASSERT_LT(seed, 1'000'000U);
  }
  std::string misses;
  for (const std::string& miss : score.misses) misses += "\n  " + miss;
  std::printf("%s: %u of %u wrong\n", GetParam().c_str(), score.wrong, score.right + score.wrong);
  EXPECT_LE(score.wrong * 100, score.right + score.wrong)
      << score.wrong << " of " << score.right + score.wrong << " are wrong:" << misses;
}

INSTANTIATE_TEST_SUITE_P(Schedulers, NextFreedOf, testing::ValuesIn(EverySchedulerByName()), [](const auto& of) {
  std::string name = of.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

}  // namespace
}  // namespace millrace::sched
