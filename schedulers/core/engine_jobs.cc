// SPDX-License-Identifier: Apache-2.0
// The life of a job, from submission to its one end.
#include "schedulers/core/engine_impl.h"
#include "schedulers/events/limits.h"

namespace millrace::sched {

const JobState* Engine::Impl::FindLiveJob(JobId job) const {
  const JobState* found = state.FindJob(job);
  return found != nullptr && found->alive() ? found : nullptr;
}

bool Engine::Impl::On(const JobSubmitted& event, Effects& effects) {
  if (event.job.value > kMaxId || event.spec.maps.size() > kMaxMaps || event.spec.reduces > kMaxReduces) return false;
  if (state.WasUsed(event.job)) return false;
  state.AddJob(event.job, event.spec, now);
  policy->OnJobSubmitted(state, event.job);
  if (state.FindJob(event.job)->Complete()) EndJob(event.job, JobOutcome::kSucceeded, "", effects);
  return true;
}

bool Engine::Impl::On(const JobKilled& event, Effects& effects) {
  if (FindLiveJob(event.job) == nullptr) return false;
  EndJob(event.job, JobOutcome::kKilled, event.reason, effects);
  return true;
}

bool Engine::Impl::On(const JobPrioritySet& event, Effects&) {
  if (FindLiveJob(event.job) == nullptr) return false;
  state.SetPriority(event.job, event.priority);
  policy->OnJobPrioritySet(state, event.job);
  return true;
}

void Engine::Impl::EndJob(JobId job, JobOutcome outcome, const std::string& reason, Effects& effects) {
  const JobState& ending = *state.FindJob(job);
  const std::string why = outcome == JobOutcome::kSucceeded ? "the job has succeeded" : reason;
  for (const TaskKind kind : kTaskKinds) {
    for (std::uint32_t index = 0; index < ending.Tasks(kind).size(); ++index) {
      KillAttempts({job, kind, index}, why, effects);
    }
  }
  deaths.erase(deaths.lower_bound({job, TaskKind::kMap, 0}), deaths.lower_bound({{job.value + 1}, TaskKind::kMap, 0}));
  if (outcome != JobOutcome::kSucceeded) TakeBackBlames(job, effects);
  state.EndJob(job, outcome, now);
  state.ReleaseHeld();
  NoteFreed();
  policy->OnJobEnded(state, job);
  effects.push_back(JobEnded{job, outcome, reason});
}

}  // namespace millrace::sched
