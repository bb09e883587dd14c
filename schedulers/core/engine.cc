// SPDX-License-Identifier: Apache-2.0
#include "schedulers/core/engine.h"

#include <algorithm>
#include <utility>

#include "schedulers/core/engine_impl.h"
#include "schedulers/events/check.h"

namespace millrace::sched {

Engine::Engine(EngineOptions options, std::unique_ptr<Policy> policy) : impl_(std::make_unique<Impl>()) {
  SCHED_CHECK(policy != nullptr, "an engine without a policy");
  impl_->options = options;
  impl_->policy = std::move(policy);
  impl_->user_limits = impl_->policy->user_limits();
}

Engine::~Engine() = default;

bool Engine::Apply(Micros now, const Event& event, Effects* effects) {
  impl_->now = std::max(impl_->now, now);
  impl_->PassTime();
  const bool fits = std::visit([this, effects](const auto& e) { return impl_->On(e, *effects); }, event);
  impl_->TellPolicy();
  return fits;
}

void Engine::Decide(Micros now, Effects* effects) {
  impl_->now = std::max(impl_->now, now);
  impl_->PassTime();
  do {
    impl_->DecideRound(*effects);
  } while (impl_->EndStandstill(*effects) || impl_->EndBlocking(*effects));
}

void Engine::Impl::DecideRound(Effects& effects) {
  // After a recovery nobody knows the job whose end a held one waits for, if that job had ended by then.
  if (state.AllHeld()) state.ReleaseHeld();
  TellPolicy();
  if (policy->BeginRound(state, now) == Policy::Limits::kChanged) {
    RefreshLimits();
    TellPolicy();
  }
  for (const Victim& victim : policy->Preempt(state, now)) {
    if (const std::string why = WhyNot(victim); !why.empty()) {
      policy->OnRefused(state, ToText(victim.attempt) + " is killed", why);
    } else {
      Preempt(victim, effects);
    }
  }
  while (DecideNext(effects) || EvictIfStuck(effects)) {
  }
}

bool Engine::Impl::DecideNext(Effects& effects) {
  TellPolicy();
  if (!state.RunnableJobs(kComputePermit).empty()) {
    if (const auto next = policy->NextToCompute(state, now)) {
      if (const std::string why = WhyNotCompute(*next); !why.empty()) {
        policy->OnRefused(state, ToText(*next) + " may compute", why);
      } else {
        GrantCompute(*next, effects);
      }
      return true;
    }
  }
  const auto decision = policy->Next(state, now);
  if (!decision) return false;
  const TaskId& task = decision->task;
  if (const std::string why = WhyNot(*decision); !why.empty()) {
    policy->OnRefused(state, ToText(task) + " on " + ToText(decision->node), why);
    return true;
  }
  const AttemptId attempt{task, FindTask(task)->launched};
  if (!blocks_since.empty()) blocks_since.erase(task.job);
  const Locality locality = state.StartAttempt(attempt, decision->node, now, decision->locality);
  const bool asks = task.reduce() && policy->MayHoldBack(state, task.job);
  effects.push_back(Launch{attempt, decision->node, locality, asks});
  return true;
}

std::string Engine::Impl::WhyNot(const Decision& decision) const {
  const auto& [task, node, speculative, locality] = decision;
  const JobState* job = FindLiveJob(task.job);
  if (job == nullptr) return "no such job lives";
  if (job->withheld()) return "the job is held back";
  if (speculative) {
    const TaskState* twin = FindTask(task);
    if (twin == nullptr || twin->done || twin->running.size() != 1) return "not one attempt of the task runs";
    if (twin->running.front().node == node) return "the attempt that runs is on this node";
  } else if (!job->Pending(task.kind).Contains(task.index)) {
    return "it is not pending";
  }
  if (task.kind == TaskKind::kReduce && !job->ReducesMayStart()) return "slow start holds the job's reduces back";
  if (!state.FreeNodes(task.kind).Contains(node.value)) return "the node has no free slot";
  if (state.Refused(*job, node)) return "the job refuses the node, where too many of its attempts failed";
  if (state.Avoids(*job, task.kind, task.index, node)) return "an attempt of the task failed on the node";
  return {};
}

void Policy::OnRefused(const ClusterState&, const std::string& decision, const std::string& why) {
  SCHED_CHECK(false, std::string(name()) + ": " + decision + ": " + why);
}

std::optional<Micros> Engine::NextWake() const {
  std::optional<Micros> wake = impl_->policy->NextWake(impl_->state);
  for (const std::optional<Micros> other : {impl_->state.NextEnd(), impl_->StandstillEnd()}) {
    if (other) wake = std::min(wake.value_or(*other), *other);
  }
  return wake;
}

bool Engine::MayCommit(const AttemptId& attempt) const {
  // The first success kills all others at once, so an attempt that runs has no rival that succeeded.
  return impl_->FindRunning(attempt) != nullptr;
}

void Engine::Impl::TellPolicy() {
  if (state.TakeNodesChanged()) policy->OnNodesChanged(state);
  for (const JobId job : state.TakeChangedJobs()) policy->OnJobChanged(state, job);
}

// The policy is told of this by a call of its own, so that it sees apart what the next event changes.
void Engine::Impl::PassTime() {
  if (state.PassTime(now)) TellPolicy();
}

void Engine::Impl::RefreshLimits() {
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node != nullptr) state.SetLimits(node->id, policy->LimitsOf(*node));
  }
}

void Engine::SetPolicy(std::unique_ptr<Policy> policy) { impl_->SetPolicy(std::move(policy)); }

void Engine::Impl::SetPolicy(std::unique_ptr<Policy> next) {
  SCHED_CHECK(next != nullptr, "an engine without a policy");
  policy = std::move(next);
  user_limits = policy->user_limits();
  LimitAllUsers();
  state.DropLocalJobs();
  RefreshLimits();
  (void)state.TakeNodesChanged();
  policy->OnNodesChanged(state);
  std::vector<QueueKey> jobs(state.LiveJobs().begin(), state.LiveJobs().end());
  std::sort(jobs.begin(), jobs.end(),
            [](const QueueKey& a, const QueueKey& b) { return a.submit_order < b.submit_order; });
  for (const QueueKey& key : jobs) policy->OnJobSubmitted(state, key.job);
}

const Policy& Engine::policy() const { return *impl_->policy; }

Outside* Engine::outside() { return impl_->policy->outside(); }

std::optional<JobProgress> Engine::Progress(JobId job) const {
  const JobState* state = impl_->state.FindJob(job);
  return state == nullptr ? std::nullopt : std::optional(state->progress);
}

std::vector<AttemptId> Engine::RunningOn(NodeId node) const {
  const NodeState* state = impl_->state.FindNode(node);
  return state == nullptr ? std::vector<AttemptId>() : state->running;
}

std::vector<MapOutputReady> Engine::ReadyOutputs(JobId job) const {
  std::vector<MapOutputReady> ready;
  const JobState* state = impl_->FindLiveJob(job);
  if (state == nullptr || state->progress.reduces == 0) return ready;
  ready.reserve(state->progress.maps_done);
  for (std::uint32_t map = 0; map < state->maps.size(); ++map) {
    const TaskState& task = state->maps[map];
    if (task.succeeded()) ready.push_back({{{job, TaskKind::kMap, map}, task.winner}, task.ran_on});
  }
  return ready;
}

std::vector<std::uint32_t> Engine::LeftOutMaps(JobId job) const {
  std::vector<std::uint32_t> left_out;
  const JobState* state = impl_->FindLiveJob(job);
  if (state == nullptr || state->progress.maps_left_out == 0) return left_out;
  for (std::uint32_t map = 0; map < state->maps.size(); ++map) {
    if (state->maps[map].left_out) left_out.push_back(map);
  }
  return left_out;
}

const ClusterState& Engine::state() const { return impl_->state; }

bool Engine::Forget(JobId job) {
  const JobState* state = impl_->state.FindJob(job);
  if (state == nullptr || state->alive()) return false;
  impl_->state.ForgetJob(job);
  return true;
}

}  // namespace millrace::sched
