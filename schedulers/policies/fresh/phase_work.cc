#include "schedulers/policies/fresh/phase_work.h"

#include <algorithm>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

constexpr TaskKind kMap = TaskKind::kMap;
constexpr TaskKind kReduce = TaskKind::kReduce;

}  // namespace

PhaseWork::Work PhaseWork::PendingWork(const JobState& job, TaskKind kind) {
  const std::uint32_t pending = job.Pending(kind).size();
  const auto time = OwnMeasuredTime(job, kind);
  return time ? Work{static_cast<double>(pending) * static_cast<double>(*time), 0} : Work{0, pending};
}

void PhaseWork::Uncount(JobId job, TaskKind kind) {
  JobWork& of_job = jobs_[job.value];
  if (!of_job.counted[kind]) return;
  of_job.counted[kind] = false;
  sums_[kind].Subtract(of_job.work[kind]);
  if (--counted_[kind] == 0) sums_[kind] = {};  // what rounding left
  if (kind == TaskKind::kReduce) return;
  if (of_job.own_time) {
    timed_.erase({of_job.work[kind].timed, job});
  } else {
    untimed_.erase({of_job.work[kind].untimed, job});
  }
}

void PhaseWork::Count(const JobState& job, TaskKind kind) {
  const JobId id = job.progress.job;
  JobWork& of_job = jobs_[id.value];
  of_job.counted[kind] = true;
  of_job.work[kind] = PendingWork(job, kind);
  sums_[kind].Add(of_job.work[kind]);
  ++counted_[kind];
  if (kind == TaskKind::kReduce) return;
  of_job.own_time = OwnMeasuredTime(job, kind).has_value();
  if (of_job.own_time) {
    timed_.emplace(of_job.work[kind].timed, id);
  } else {
    untimed_.emplace(of_job.work[kind].untimed, id);
  }
}

void PhaseWork::Refresh(const JobState& job, Phase phase) {
  const JobId id = job.progress.job;
  if (jobs_.size() <= id.value) jobs_.resize(id.value + 1);
  Remove(id);
  if (phase == Phase::kMap) Count(job, TaskKind::kMap);
  if (phase == Phase::kReady || phase == Phase::kReduce) Count(job, TaskKind::kReduce);
}

void PhaseWork::Remove(JobId job) {
  if (jobs_.size() <= job.value) return;
  Uncount(job, TaskKind::kMap);
  Uncount(job, TaskKind::kReduce);
}

std::optional<JobId> PhaseWork::LeastMapWork(Micros mean) const {
  if (timed_.empty() && untimed_.empty()) return std::nullopt;
  if (untimed_.empty()) return timed_.begin()->second;
  const auto [tasks, job] = *untimed_.begin();
  if (timed_.empty()) return job;
  const std::pair untimed{static_cast<double>(tasks) * static_cast<double>(mean), job};
  return std::min(untimed, *timed_.begin()).second;
}

PhaseOutlook PhaseWork::Outlook(const ClusterState& state, const PhaseAdmission& admission) const {
  const Micros map_time = state.MeanTime(TaskKind::kMap).value_or(kUnknownTaskTime);
  const Micros reduce_time = state.MeanTime(TaskKind::kReduce).value_or(kUnknownTaskTime);
  PhaseOutlook outlook;
  outlook.map_work = sums_[kMap].Total(map_time);
  outlook.reduce_work = sums_[kReduce].Total(reduce_time);
  outlook.slots = state.TotalCapacity();
  outlook.map_slots = state.Running(TaskKind::kMap);
  outlook.map_jobs = static_cast<std::uint32_t>(admission.Count(Phase::kMap));
  if (const std::uint32_t ending = state.Running(TaskKind::kReduce); ending > 0) {
    outlook.reduce_interval = static_cast<double>(reduce_time) / ending;
  }
  const auto first = LeastMapWork(map_time);
  if (!first) return outlook;
  const JobState& job = *state.FindJob(*first);
  outlook.progress = job.progress.maps == 0 ? 1 : static_cast<double>(job.progress.maps_done) / job.progress.maps;
  outlook.first_map_work = jobs_[first->value].work[kMap].Total(map_time);
  outlook.first_reduce_work = PendingWork(job, TaskKind::kReduce).Total(reduce_time);
  outlook.first_slots = job.running_attempts[kMap];
  if (const auto next = admission.NextToEnter()) {
    outlook.next_map_work = PendingWork(*state.FindJob(*next), TaskKind::kMap).Total(map_time);
  }
  return outlook;
}

}  // namespace millrace::sched
