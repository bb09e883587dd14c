// SPDX-License-Identifier: Apache-2.0
#include "schedulers/core/engine_trial.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedulers/core/engine_impl.h"

namespace millrace::sched {
namespace {

// Attempts of one job and kind that run on one node.
struct Alike {
  JobId job;
  NodeId node;
  AttemptId oldest;
  Micros since = 0;  // of the oldest
  std::uint32_t attempts = 0;
  std::uint32_t of_job = 0;  // how many nodes of the job come before this one
};

// Returns the running attempts of the kinds that somebody waits for, in the order in which they are tried.
std::vector<Alike> InOrderOfTrials(const ClusterState& state, const PerKind<bool>& wanted) {
  std::map<std::tuple<JobId, TaskKind, NodeId>, Alike> alike;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->TakesTasks()) continue;
    for (const AttemptId& attempt : node->running) {
      if (!wanted[attempt.task.kind]) continue;
      const JobState& job = *state.FindJob(attempt.task.job);
      const Micros since = job.Tasks(attempt.task.kind)[attempt.task.index].Find(attempt.number)->since;
      Alike& of = alike[{attempt.task.job, attempt.task.kind, node->id}];
      if (of.attempts++ == 0 || since < of.since) of = {attempt.task.job, node->id, attempt, since, of.attempts};
    }
  }
  std::vector<Alike> all;
  for (const auto& [key, of] : alike) all.push_back(of);
  const auto older = [](const Alike& a, const Alike& b) {
    return std::tie(a.since, a.oldest) < std::tie(b.since, b.oldest);
  };
  std::sort(all.begin(), all.end(), older);
  std::map<std::pair<JobId, TaskKind>, std::uint32_t> before;
  for (Alike& of : all) of.of_job = before[{of.job, of.oldest.task.kind}]++;
  std::stable_sort(all.begin(), all.end(), [](const Alike& a, const Alike& b) { return a.of_job < b.of_job; });
  return all;
}

}  // namespace

Engine::Impl::Impl(const Impl& other, std::unique_ptr<Policy> clone)
    : options(other.options),
      policy(std::move(clone)),
      user_limits(other.user_limits),
      state(other.state),
      now(other.now),
      still_since(other.still_since),
      blocks_since(other.blocks_since),
      freed_at(other.freed_at),
      look_at(other.look_at),
      deaths(other.deaths) {}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<Engine> Engine::Clone() const {
  auto policy = impl_->policy->Clone(impl_->state);
  if (policy == nullptr) return nullptr;
  return std::unique_ptr<Engine>(new Engine(std::make_unique<Impl>(*impl_, std::move(policy))));
}

std::unique_ptr<Engine> Engine::Detach() const {
  auto copy = Clone();
  if (copy == nullptr) return nullptr;
  copy->impl_->options.make_policy = nullptr;  // it may hold what belongs to this engine's thread
  copy->impl_->state.Detach();
  return copy;
}

TriedEnds Engine::Impl::TryEnds(const PerKind<bool>& wanted, Micros at, const TrialLimits& limits) const {
  TriedEnds tried;
  std::uint64_t cost = 0;
  for (const Alike& of : InOrderOfTrials(state, wanted)) {
    const JobProgress& job = state.FindJob(of.job)->progress;
    cost += std::uint64_t{state.node_ids()} + state.LiveJobs().size() + job.maps + job.reduces;
    std::optional<TriedEnd> end;
    if (tried.ends.size() < limits.trials && cost <= limits.cost) end = TryEnd(of.oldest, of.node, at);
    if (end) {
      end->stands_for = of.attempts;
      tried.ends.push_back(*end);
    } else {
      tried.untried[of.oldest.task.kind] += of.attempts;
    }
  }
  return tried;
}

std::optional<TriedEnd> Engine::Impl::TryEnd(const AttemptId& attempt, NodeId node, Micros at) const {
  auto clone = policy->Clone(state);
  if (clone == nullptr) return std::nullopt;
  Impl trial(*this, std::move(clone));
  trial.now = std::max(now, at);
  trial.PassTime();
  const auto free_at_node = [&] {
    PerSlot<bool> free = {};
    for (const TaskKind kind : kTaskKinds) free[kind] = trial.state.FreeNodes(kind).Contains(node.value);
    free[kComputePermit] = trial.state.FindNode(node)->HasFreePermit();
    return free;
  };
  const PerSlot<bool> was_free = free_at_node();
  const JobState& job = *state.FindJob(attempt.task.job);
  AttemptSucceeded success{attempt};
  if (attempt.task.kind == TaskKind::kMap) {
    success.input_bytes = job.spec.maps[attempt.task.index].bytes;
    success.output_bytes = job.ExpectedOutput(attempt.task.index);
  }
  Effects effects;
  (void)trial.On(success, effects);
  trial.TellPolicy();
  TriedEnd end{attempt, node};
  const PerSlot<bool> is_free = free_at_node();
  for (const SlotKind kind : kSlotKinds) end.frees[kind] = is_free[kind] && !was_free[kind];
  effects.clear();
  trial.DecideRound(effects);
  for (const Effect& effect : effects) {
    const auto give = [&end](SlotKind kind, JobId to) {
      if (!end.goes_to[kind]) end.goes_to[kind] = to;
    };
    if (const auto* launch = std::get_if<Launch>(&effect)) give(launch->attempt.task.kind, launch->attempt.task.job);
    if (const auto* compute = std::get_if<Compute>(&effect)) give(kComputePermit, compute->attempt.task.job);
  }
  return end;
}

}  // namespace millrace::sched
