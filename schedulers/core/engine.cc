#include "schedulers/core/engine.h"

#include <algorithm>
#include <utility>

#include "schedulers/core/check.h"
#include "schedulers/core/engine_impl.h"
#include "schedulers/core/event_text.h"

namespace millrace::sched {

Engine::Engine(EngineOptions options, std::unique_ptr<Policy> policy) : impl_(std::make_unique<Impl>()) {
  SCHED_CHECK(policy != nullptr, "an engine without a policy");
  impl_->options = options;
  impl_->policy = std::move(policy);
}

Engine::~Engine() = default;

bool Engine::Apply(Time now, const Event& event, Effects* effects) {
  impl_->now = std::max(impl_->now, now);
  return std::visit([this, effects](const auto& e) { return impl_->On(e, *effects); }, event);
}

void Engine::Decide(Time now, Effects* effects) {
  impl_->now = std::max(impl_->now, now);
  while (const auto decision = impl_->policy->Next(impl_->state, impl_->now)) {
    impl_->CheckDecision(*decision);
    const TaskId& task = decision->task;
    const AttemptId attempt{task, impl_->FindTask(task)->launched};
    const Locality locality = impl_->state.StartAttempt(attempt, decision->node, impl_->now);
    effects->push_back(Launch{attempt, decision->node, locality});
  }
}

void Engine::Impl::CheckDecision(const Decision& decision) const {
  const auto [task, node] = decision;
  const auto detail = [&] {
    return std::string(policy->name()) + ": " + FormatTask(task) + " on n" + std::to_string(node.value);
  };
  const JobState* job = FindLiveJob(task.job);
  SCHED_CHECK(job != nullptr, detail());
  SCHED_CHECK(job->Pending(task.kind).Contains(task.index), detail());
  SCHED_CHECK(task.kind == TaskKind::kMap || job->ReducesMayStart(), detail());
  SCHED_CHECK(state.FreeNodes(task.kind).Contains(node.value), detail());
  SCHED_CHECK(!state.Refused(*job, node), detail());
  SCHED_CHECK(!state.Avoids(*job, task.kind, task.index, node), detail());
}

std::optional<Time> Engine::NextWake() const { return impl_->policy->NextWake(impl_->state); }

bool Engine::MayCommit(const AttemptId& attempt) const {
  // The first success kills all others at once, so an attempt that runs has no rival that succeeded.
  return impl_->FindRunning(attempt) != nullptr;
}

void Engine::SetPolicy(std::unique_ptr<Policy> policy) {
  SCHED_CHECK(policy != nullptr, "an engine without a policy");
  impl_->policy = std::move(policy);
  std::vector<QueueKey> jobs(impl_->state.LiveJobs().begin(), impl_->state.LiveJobs().end());
  std::sort(jobs.begin(), jobs.end(),
            [](const QueueKey& a, const QueueKey& b) { return a.submit_order < b.submit_order; });
  for (const QueueKey& key : jobs) impl_->policy->OnJobSubmitted(impl_->state, key.job);
}

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
    if (task.done) ready.push_back({{{job, TaskKind::kMap, map}, task.winner}, task.ran_on});
  }
  return ready;
}

const ClusterState& Engine::state() const { return impl_->state; }

bool Engine::Forget(JobId job) {
  const JobState* state = impl_->state.FindJob(job);
  if (state == nullptr || state->alive()) return false;
  impl_->state.ForgetJob(job);
  return true;
}

}  // namespace millrace::sched
