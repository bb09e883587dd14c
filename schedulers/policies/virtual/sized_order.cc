// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/sized_order.h"

#include <algorithm>
#include <limits>

#include "schedulers/history/estimates.h"
#include "schedulers/offering/offer_by_rank.h"

namespace millrace::sched {
namespace {

// Larger sizes make no difference, and sums of them would not fit: 32 years of one slot.
constexpr Micros kMostWork = 1'000'000'000'000'000;

std::uint32_t WeightOf(Priority priority) { return 16U >> static_cast<unsigned>(priority); }

std::uint32_t TasksLeft(const JobState& job, TaskKind phase) {
  const JobProgress& is = job.progress;
  return phase == TaskKind::kMap ? is.maps - is.maps_done : is.reduces - is.reduces_done;
}

bool MayRunTasks(const JobState& job, TaskKind phase) {
  return job.runnable[phase] || (phase == TaskKind::kReduce && job.runnable[kComputePermit]);
}

}  // namespace

void SizedOrder::WorkUntil(TaskKind phase, Micros now) {
  const Micros passed = std::max<Micros>(now - worked_until_[phase], 0);
  Work(phase, slots_[phase], passed, now);
  worked_until_[phase] += passed;
}

void SizedOrder::Learn(const ClusterState& state, const JobState& job, TaskKind phase, Micros now) {
  const std::uint32_t weight = WeightOf(job.progress.priority), finished = job.times[phase].finished;
  PerKind<Phase>* const phases = jobs_.Find(job.progress.job);
  const bool entered = phases != nullptr && (*phases)[phase].tasks > 0;
  if (!entered && !MayRunTasks(job, phase)) return;
  Phase& is = entered ? (*phases)[phase] : jobs_[job.progress.job][phase];
  if (entered && is.finished == finished && is.size.weight == weight) return;
  if (!entered) is.tasks = std::max(TasksLeft(job, phase), 1U);
  // A job of which nothing is known keeps the size with which it has entered, although the cluster's mean moves.
  if (!entered || is.finished != finished) {
    const Micros each = std::min(MeasuredTime(state, job, phase), kMostWork / is.tasks);
    is.size.work = std::max<Micros>(each, 1) * is.tasks;
  }
  is.finished = finished;
  is.size.weight = weight;
  Resize(phase, job, is.size, now);
}

PerSlot<bool> SizedOrder::BeginRound(const ClusterState& state, Micros now) {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const TaskKind phase : kTaskKinds) {
    WorkUntil(phase, now);
    slots_[phase] = state.Capacity(phase == TaskKind::kMap ? kMapSlot : reduces_);
    for (const JobId id : changed_) {
      const JobState* const job = state.FindJob(id);
      if (job != nullptr && job->alive()) Learn(state, *job, phase, now);
    }
  }
  changed_.clear();
  return {};
}

void SizedOrder::OnJobEnded(const ClusterState& state, JobId id) {
  if (!jobs_.Contains(id)) return;
  const JobState& job = *state.FindJob(id);
  const Micros now = job.progress.ended;
  for (const TaskKind phase : kTaskKinds) {
    if (jobs_.At(id)[phase].tasks == 0) continue;
    WorkUntil(phase, now);
    if (job.times[phase].finished > 0) Learn(state, job, phase, now);
    End(phase, id, job.progress.outcome == JobOutcome::kSucceeded, now);
  }
  jobs_.Erase(id);
}

SizedOrder::Rank SizedOrder::RankFor(SlotKind kind, const JobState& job) const {
  constexpr Micros kLast = std::numeric_limits<Micros>::max();
  const PerKind<Phase>* const phases = jobs_.Find(job.progress.job);
  // A job that may run tasks since this round began enters with the next.
  if (phases == nullptr || (*phases)[kind.task()].tasks == 0) return {kLast, 0, 0, job.progress.job};
  return RankOf(kind, job);
}

std::optional<JobId> SizedOrder::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  return OfferByRank(state, kind, take, [&](const JobState& job) { return RankFor(kind, job); });
}

bool SizedOrder::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  return RankFor(kind, *state.FindJob(a)) < RankFor(kind, *state.FindJob(b));
}

}  // namespace millrace::sched
