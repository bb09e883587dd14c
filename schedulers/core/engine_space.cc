// Jobs that cannot go on because no node has room for what their maps would write (Zaharia et al. section 5.4).
#include <algorithm>
#include <optional>

#include "schedulers/core/engine_impl.h"

namespace millrace::sched {
namespace {

// Returns the work that the job would lose by being evicted.
bool Holds(const JobState& job) { return job.started && !job.held && job.Demand(TaskKind::kMap) > 0; }

double ShareDone(const JobState& job) {
  return static_cast<double>(job.progress.maps_done + job.progress.reduces_done) /
         static_cast<double>(job.progress.maps + job.progress.reduces);
}

// Returns true if some task runs, or may run soon, that can end without another map being placed.
bool SomethingGoesOn(const ClusterState& state) {
  if (state.Running(TaskKind::kMap) > 0 || !state.Paused().empty()) return true;
  return std::any_of(state.LiveJobs().begin(), state.LiveJobs().end(), [&](const QueueKey& key) {
    const JobState& job = *state.FindJob(key.job);
    const bool has_all_input = job.progress.maps_done == job.progress.maps;
    return job.running_attempts[kComputePermit] > 0 || (has_all_input && job.running_attempts[TaskKind::kReduce] > 0);
  });
}

}  // namespace

bool Engine::Impl::EvictIfStuck(Effects& effects) {
  if (SomethingGoesOn(state)) return false;
  const JobState* victim = nullptr;
  std::uint32_t holders = 0;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (!Holds(job)) continue;
    ++holders;
    const bool later = victim == nullptr || job.key.submit_order > victim->key.submit_order;
    const bool less = victim == nullptr || ShareDone(job) < ShareDone(*victim);
    const bool same = victim != nullptr && ShareDone(job) == ShareDone(*victim);
    if (policy->gives_way() == GivesWay::kSubmittedLast ? later : less || (same && later)) victim = &job;
  }
  if (holders < 2) return false;  // evicting the only holder helps nobody: it waits for room
  if (!policy->WaitsForSpace(state, now)) return false;
  const JobId job = victim->progress.job;
  effects.push_back(sched::Evict{job});
  Evict(job, effects);
  return true;
}

void Engine::Impl::Evict(JobId job, Effects& effects) {
  const JobState& evicted = *state.FindJob(job);
  state.Hold(job);
  for (const TaskKind kind : kTaskKinds) {
    for (std::uint32_t index = 0; index < evicted.Tasks(kind).size(); ++index) {
      KillAttempts({job, kind, index}, "the job gives way for lack of space", effects);
    }
  }
  for (std::uint32_t map = 0; map < evicted.maps.size(); ++map) {
    if (evicted.progress.reduces > 0 && evicted.maps[map].succeeded()) LoseOutput(job, map, effects);
  }
  TellPolicy();
}

bool Engine::Impl::On(const JobEvicted& event, Effects& effects) {
  if (FindLiveJob(event.job) == nullptr) return false;
  Evict(event.job, effects);
  return true;
}

}  // namespace millrace::sched
