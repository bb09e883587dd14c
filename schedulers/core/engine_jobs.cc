// SPDX-License-Identifier: Apache-2.0
// The life of a job, from submission to its one end.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

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
  LimitUser(event.spec.PoolName(), event.spec.user);
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
  const JobSpec& spec = state.FindJob(event.job)->spec;
  LimitUser(spec.PoolName(), spec.user);
  policy->OnJobPrioritySet(state, event.job);
  return true;
}

// The job is over_limit while it is held, which policies know: it waits, has not begun and takes no place.
bool Engine::Impl::On(const JobHeld& event, Effects&) {
  const JobState* job = FindLiveJob(event.job);
  if (job == nullptr || job->started || job->on_hold == event.held) return false;
  state.SetOnHold(event.job, event.held);
  state.SetOverLimit(event.job, event.held);
  LimitUser(job->spec.PoolName(), job->spec.user);
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
  const std::string pool = ending.spec.PoolName(), user = ending.spec.user;
  state.EndJob(job, outcome, now);
  state.ReleaseHeld();
  NoteFreed();
  policy->OnJobEnded(state, job);
  LimitUser(pool, user);
  effects.push_back(JobEnded{job, outcome, reason});
}

// The jobs that have started count first, since they go on whatever the limit is now. This is a function of the live
// jobs alone, so that a replay of a journal without the jobs that have ended lets the same jobs run.
void Engine::Impl::LimitUser(const std::string& pool, const std::string& user) {
  const std::optional<std::uint32_t> limit = user_limits.Of(pool);
  if (!limit) return;
  std::uint32_t running = 0;
  std::vector<JobId> others;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.spec.user != user || job.spec.PoolName() != pool) continue;
    if (job.on_hold) continue;
    if (job.started) {
      state.SetOverLimit(key.job, false);
      ++running;
    } else {
      others.push_back(key.job);
    }
  }
  for (const JobId job : others) {
    const bool over = running >= *limit;
    state.SetOverLimit(job, over);
    if (!over) ++running;
  }
}

void Engine::Impl::LimitAllUsers() {
  std::set<std::pair<std::string, std::string>> limited;  // pool, user
  std::vector<JobId> free;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobSpec& spec = state.FindJob(key.job)->spec;
    if (user_limits.Of(spec.PoolName())) {
      limited.insert({spec.PoolName(), spec.user});
    } else {
      free.push_back(key.job);
    }
  }
  for (const JobId job : free) state.SetOverLimit(job, state.FindJob(job)->on_hold);
  for (const auto& [pool, user] : limited) LimitUser(pool, user);
}

}  // namespace millrace::sched
