// SPDX-License-Identifier: Apache-2.0
#include "schedulers/history/estimates.h"

#include <algorithm>

namespace millrace::sched {
namespace {

double TimeAlone(const ClusterState& state, const JobState& job, TaskKind kind, Micros now) {
  const Micros each = MeasuredTime(state, job, kind);
  double work = 0, longest = 0;
  for (const TaskState& task : job.Tasks(kind)) {
    if (task.done) continue;
    Micros left = each;
    for (const RunningAttempt& attempt : task.running) {
      left = std::min(left, std::max(attempt.since + each - now, Micros{0}));
    }
    work += static_cast<double>(left);
    longest = std::max(longest, static_cast<double>(left));
  }
  return std::max(longest, work / std::max(state.Capacity(kind), 1U));
}

Micros Said(const JobState& job, TaskKind kind) {
  return kind == TaskKind::kMap ? job.spec.map_time : job.spec.reduce_time;
}

std::optional<Micros> FromHistory(const JobState& job, TaskKind kind) {
  const JobProfile& profile = job.spec.profile;
  const Micros before = kind == TaskKind::kMap ? profile.map_time : profile.reduce_time;
  return profile.runs > 0 && before > 0 ? std::optional(before) : std::nullopt;
}

}  // namespace

Micros ClusterTaskTime(const ClusterState& state, TaskKind kind) {
  return std::max<Micros>(state.MeanTime(kind).value_or(kUnknownTaskTime), 1);
}

Micros DeclaredTime(const ClusterState& state, const JobState& job, TaskKind kind) {
  if (const Micros said = Said(job, kind); said > 0) return said;
  if (const auto mean = job.MeanTime(kind)) return *mean;
  if (const auto before = FromHistory(job, kind)) return *before;
  return ClusterTaskTime(state, kind);
}

std::optional<Micros> OwnMeasuredTime(const JobState& job, TaskKind kind) {
  if (const auto mean = job.MeanTime(kind)) return mean;
  if (const Micros said = Said(job, kind); said > 0) return said;
  return FromHistory(job, kind);
}

Micros MeasuredTime(const ClusterState& state, const JobState& job, TaskKind kind) {
  if (const auto own = OwnMeasuredTime(job, kind)) return *own;
  return ClusterTaskTime(state, kind);
}

double RemainingWork(const ClusterState& state, const JobState& job, SlotKind kind) {
  return static_cast<double>(job.YetToHave(kind)) * static_cast<double>(MeasuredTime(state, job, kind.task()));
}

std::vector<DeadlineView> DeadlinesOf(const ClusterState& state, Micros now) {
  std::vector<DeadlineView> deadlines;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.spec.deadline <= 0) continue;
    double alone = 0;
    for (const TaskKind kind : kTaskKinds) alone += TimeAlone(state, job, kind, now);
    deadlines.push_back({key.job, job.spec.deadline, job.spec.deadline - now - static_cast<Micros>(alone)});
  }
  std::ranges::stable_sort(deadlines, {}, &DeadlineView::deadline);
  return deadlines;
}

}  // namespace millrace::sched
