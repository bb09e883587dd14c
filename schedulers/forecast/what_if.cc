// SPDX-License-Identifier: Apache-2.0
#include "schedulers/forecast/what_if.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {
namespace {

const PlayedJob* Find(const Played& play, JobId job) {
  const auto at = std::ranges::find(play.jobs, job, &PlayedJob::job);
  return at == play.jobs.end() ? nullptr : &*at;
}

JobId UnusedJob(const ClusterState& state) {
  JobId job{1};
  for (const QueueKey& key : state.LiveJobs()) job.value = std::max(job.value, key.job.value + 1);
  while (state.WasUsed(job)) ++job.value;
  return job;
}

// Returns the node that a new one is like; null if no node takes tasks.
const NodeState* Model(const ClusterState& state) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes;  // by slots
  const NodeState* model = nullptr;
  const auto alike = [&](const NodeState& node) -> std::uint32_t& {
    return nodes[{node.slots.maps, node.slots.reduces}];
  };
  std::vector<const NodeState*> all;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->TakesTasks()) continue;
    ++alike(*node);
    all.push_back(node);
  }
  for (const NodeState* node : all) {
    if (model == nullptr || alike(*node) > alike(*model)) model = node;
  }
  return model;
}

class Trial {
 public:
  Trial(std::unique_ptr<Engine> engine, Micros now, JobId job) : engine_(std::move(engine)), now_(now), job_(job) {}

  // Makes the change. Returns why it cannot be made; empty if it is made.
  [[nodiscard]] std::string Make(Change& change, Tried* tried) {
    if (!change.untried.empty()) return change.untried;
    switch (change.kind) {
      case ChangeKind::kPriority:
        Tell(JobPrioritySet{job_, change.priority});
        return {};
      case ChangeKind::kPool:
        return Resubmit(change.name);
      case ChangeKind::kNode:
        return AddNode(tried);
      case ChangeKind::kScheduler:
        engine_->SetPolicy(std::move(change.policy));
        return {};
    }
    return "it is unknown what that is";
  }

  [[nodiscard]] Engine& engine() { return *engine_; }
  // Returns the job's number after the change.
  [[nodiscard]] JobId job() const { return job_; }

 private:
  void Tell(const Event& event) {
    Effects effects;  // the play looks at the state that they leave
    (void)engine_->Apply(now_, event, &effects);
  }

  std::string Resubmit(const std::string& pool) {
    const JobState& state = *engine_->state().FindJob(job_);
    if (state.started) return "it runs already, and a job stays in its pool";
    JobSpec spec = state.spec;
    spec.priority = state.progress.priority;
    spec.pool = pool;
    if (std::string why = engine_->policy().Refusal(spec); !why.empty()) return why;
    Tell(JobKilled{job_, {}});
    job_ = UnusedJob(engine_->state());
    Tell(JobSubmitted{job_, std::move(spec)});
    return {};
  }

  std::string AddNode(Tried* tried) {
    const ClusterState& state = engine_->state();
    const NodeState* model = Model(state);
    if (model == nullptr) return "no node takes tasks that a new one could be like";
    tried->slots = model->slots;
    const NodeId added{state.node_ids()};
    const std::optional<std::uint64_t> room = model->free_bytes;
    const auto [rack, datacenter] = state.topology().NamesOf(model->location);
    Tell(NodeJoined{added, rack, datacenter, tried->slots});
    if (room) Tell(NodeSpace{added, *room});
    return {};
  }

  const std::unique_ptr<Engine> engine_;
  const Micros now_;
  JobId job_;
};

// Compares the other jobs of the two plays.
void Price(const Played& without, JobId old, const Played& with, JobId job, Tried* tried) {
  for (const PlayedJob& before : without.jobs) {
    if (before.job == old) continue;
    const PlayedJob* after = Find(with, before.job);
    if (after == nullptr || after->why_no_end == Unforeseen::kHeld) continue;
    if (!before.end || !after->end) {
      ++tried->unknown;
    } else if (const Micros by = *after->end - *before.end; by >= kWorthTelling) {
      tried->later.push_back({before.job, by});
    }
  }
  std::ranges::sort(tried->later,
                    [](const Later& a, const Later& b) { return std::tie(b.by, a.job) < std::tie(a.by, b.job); });
  tried->job = *Find(with, job);
}

}  // namespace

WhatIf TryChanges(const Engine& engine, Micros now, JobId job, const TaskTimes& times, std::vector<Change> changes,
                  PlayBounds bounds) {
  WhatIf answer;
  bounds.watched = job;
  const auto copy = engine.Detach();
  const Played without = PlayForward(*copy, now, times, bounds);
  answer.job = *Find(without, job);
  for (const JobId ahead : without.ahead) answer.ahead.push_back(*Find(without, ahead));
  for (Change& change : changes) {
    Tried& tried = answer.tried.emplace_back();
    if (bounds.stop && bounds.stop()) {
      tried.untried = "no time was left to try it";
      continue;
    }
    Trial trial(engine.Detach(), now, job);
    tried.untried = trial.Make(change, &tried);
    if (!tried.untried.empty()) continue;
    bounds.watched = trial.job();
    Price(without, job, PlayForward(trial.engine(), now, times, bounds), trial.job(), &tried);
  }
  return answer;
}

}  // namespace millrace::sched
