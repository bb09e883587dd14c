#include "schedulers/parts/phase_work.h"

#include <algorithm>

#include "schedulers/parts/estimates.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

constexpr std::size_t kMap = static_cast<std::size_t>(TaskKind::kMap);
constexpr std::size_t kReduce = static_cast<std::size_t>(TaskKind::kReduce);

}  // namespace

PhaseWork::Work PhaseWork::PendingWork(const JobState& job, TaskKind kind) {
  const std::uint32_t pending = job.Pending(kind).size();
  const auto time = OwnMeasuredTime(job, kind);
  return time ? Work{static_cast<double>(pending) * static_cast<double>(*time), 0} : Work{0, pending};
}

void PhaseWork::Take(JobId job, TaskKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  Share& share = jobs_[job.value];
  if (!share.counted[k]) return;
  share.counted[k] = false;
  sums_[k].Take(share.work[k]);
  if (--counted_[k] == 0) sums_[k] = {};  // what rounding left
  if (kind == TaskKind::kReduce) return;
  if (share.own_time) {
    timed_.erase({share.work[k].timed, job});
  } else {
    untimed_.erase({share.work[k].untimed, job});
  }
}

void PhaseWork::Put(const JobState& job, TaskKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  const JobId id = job.progress.job;
  Share& share = jobs_[id.value];
  share.counted[k] = true;
  share.work[k] = PendingWork(job, kind);
  sums_[k].Add(share.work[k]);
  ++counted_[k];
  if (kind == TaskKind::kReduce) return;
  share.own_time = OwnMeasuredTime(job, kind).has_value();
  if (share.own_time) {
    timed_.emplace(share.work[k].timed, id);
  } else {
    untimed_.emplace(share.work[k].untimed, id);
  }
}

void PhaseWork::Refresh(const JobState& job, Phase phase) {
  const JobId id = job.progress.job;
  if (jobs_.size() <= id.value) jobs_.resize(id.value + 1);
  Remove(id);
  if (phase == Phase::kMap) Put(job, TaskKind::kMap);
  if (phase == Phase::kReady || phase == Phase::kReduce) Put(job, TaskKind::kReduce);
}

void PhaseWork::Remove(JobId job) {
  if (jobs_.size() <= job.value) return;
  Take(job, TaskKind::kMap);
  Take(job, TaskKind::kReduce);
}

std::optional<JobId> PhaseWork::LeastMapWork(Time mean) const {
  if (timed_.empty() && untimed_.empty()) return std::nullopt;
  if (untimed_.empty()) return timed_.begin()->second;
  const auto [tasks, job] = *untimed_.begin();
  if (timed_.empty()) return job;
  const std::pair untimed{static_cast<double>(tasks) * static_cast<double>(mean), job};
  return std::min(untimed, *timed_.begin()).second;
}

PhaseOutlook PhaseWork::Outlook(const ClusterState& state, const PhaseAdmission& admission) const {
  const Time map_time = state.MeanTime(TaskKind::kMap).value_or(kUnknownTaskTime);
  const Time reduce_time = state.MeanTime(TaskKind::kReduce).value_or(kUnknownTaskTime);
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
