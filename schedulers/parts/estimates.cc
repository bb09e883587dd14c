#include "schedulers/parts/estimates.h"

#include <algorithm>

namespace millrace::sched {
namespace {

Time Said(const JobState& job, TaskKind kind) {
  return kind == TaskKind::kMap ? job.spec.map_time : job.spec.reduce_time;
}

std::optional<Time> FromHistory(const JobState& job, TaskKind kind) {
  const JobProfile& profile = job.spec.profile;
  const Time before = kind == TaskKind::kMap ? profile.map_time : profile.reduce_time;
  return profile.runs > 0 && before > 0 ? std::optional(before) : std::nullopt;
}

}  // namespace

Time ClusterTaskTime(const ClusterState& state, TaskKind kind) {
  return std::max<Time>(state.MeanTime(kind).value_or(kUnknownTaskTime), 1);
}

Time DeclaredTime(const ClusterState& state, const JobState& job, TaskKind kind) {
  if (const Time said = Said(job, kind); said > 0) return said;
  if (const auto mean = job.MeanTime(kind)) return *mean;
  if (const auto before = FromHistory(job, kind)) return *before;
  return ClusterTaskTime(state, kind);
}

std::optional<Time> OwnMeasuredTime(const JobState& job, TaskKind kind) {
  if (const auto mean = job.MeanTime(kind)) return mean;
  if (const Time said = Said(job, kind); said > 0) return said;
  return FromHistory(job, kind);
}

Time MeasuredTime(const ClusterState& state, const JobState& job, TaskKind kind) {
  if (const auto own = OwnMeasuredTime(job, kind)) return *own;
  return ClusterTaskTime(state, kind);
}

double RemainingWork(const ClusterState& state, const JobState& job, TaskKind kind) {
  return static_cast<double>(job.Pending(kind).size()) * static_cast<double>(MeasuredTime(state, job, kind));
}

}  // namespace millrace::sched
