#include "schedulers/policies/fresh/phase_work.h"

#include <utility>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

constexpr TaskKind kMap = TaskKind::kMap;
constexpr TaskKind kReduce = TaskKind::kReduce;

Micros ClusterTime(const ClusterState& state, TaskKind kind) { return state.MeanTime(kind).value_or(kUnknownTaskTime); }

// Returns w'_m or w'_r.
double PendingWork(const ClusterState& state, const JobState& job, TaskKind kind) {
  const auto own = OwnMeasuredTime(job, kind);
  const Micros time = own ? *own : ClusterTime(state, kind);
  return static_cast<double>(job.Pending(kind).size()) * static_cast<double>(time);
}

}  // namespace

PhaseOutlook OutlookOf(const ClusterState& state, const PhaseAdmission& admission) {
  PhaseOutlook outlook;
  outlook.slots = state.TotalCapacity();
  outlook.map_slots = state.Running(kMap);
  outlook.map_jobs = static_cast<std::uint32_t>(admission.Count(Phase::kMap));
  if (const std::uint32_t ending = state.Running(kReduce); ending > 0) {
    outlook.reduce_interval = static_cast<double>(ClusterTime(state, kReduce)) / ending;
  }
  for (const Phase phase : {Phase::kReady, Phase::kReduce}) {
    for (const JobId id : admission.JobsIn(phase)) {
      outlook.reduce_work += PendingWork(state, *state.FindJob(id), kReduce);
    }
  }
  const JobState* first = nullptr;  // a
  for (const JobId id : admission.JobsIn(Phase::kMap)) {
    const JobState& job = *state.FindJob(id);
    const double work = PendingWork(state, job, kMap);
    outlook.map_work += work;
    if (first != nullptr && std::pair(outlook.first_map_work, first->progress.job) < std::pair(work, id)) continue;
    first = &job;
    outlook.first_map_work = work;
  }
  if (first == nullptr) return outlook;
  const JobProgress& progress = first->progress;
  outlook.progress = progress.maps == 0 ? 1 : static_cast<double>(progress.maps_done) / progress.maps;
  outlook.first_reduce_work = PendingWork(state, *first, kReduce);
  outlook.first_slots = first->running_attempts[kMap];
  if (const auto next = admission.NextToEnter())
    outlook.next_map_work = PendingWork(state, *state.FindJob(*next), kMap);
  return outlook;
}

}  // namespace millrace::sched
