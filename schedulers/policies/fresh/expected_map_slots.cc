// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/expected_map_slots.h"

#include <algorithm>
#include <cmath>
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

double FreedReduceSlots(const PhaseOutlook& outlook, double theta_cur) {
  const double r = outlook.reduce_interval;
  const double held = outlook.first_slots;
  if (r <= 0 || outlook.first_map_work <= 0) return 0;
  const double c = theta_cur / (2 * r * std::max<double>(1, outlook.map_jobs));
  if (c <= 0) return held > 0 ? outlook.first_map_work / held / r : 0;
  return (std::sqrt(held * held + 4 * c * outlook.first_map_work) - held) / (2 * c * r);
}

double ExpectedMapSlots(const PhaseOutlook& outlook, double tau_progress, double tau_change) {
  const double all_work = outlook.map_work + outlook.reduce_work;
  if (all_work <= 0 || outlook.slots == 0) return 0;
  const double slots = outlook.slots;
  const double theta_cur = outlook.map_work / all_work;
  if (outlook.map_jobs == 0 || outlook.progress < tau_progress) return theta_cur * slots;
  const double map_work =
      std::max(0.0, outlook.map_work - outlook.map_jobs * outlook.first_map_work) + outlook.next_map_work;
  const double reduce_work = outlook.reduce_work + outlook.first_reduce_work;
  const double theta_exp = map_work + reduce_work > 0 ? map_work / (map_work + reduce_work) : theta_cur;
  const double then = outlook.map_slots + theta_cur * FreedReduceSlots(outlook, theta_cur);
  // This is |then / S - theta_exp| / theta_exp > tau_2 without the division, since theta_exp may be 0.
  const bool sudden = std::abs(then / slots - theta_exp) > tau_change * theta_exp;
  return (sudden ? theta_exp : theta_cur) * slots;
}

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
