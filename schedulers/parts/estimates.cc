#include "schedulers/parts/estimates.h"

namespace millrace::sched {
namespace {

Time Said(const JobState& job, TaskKind kind) {
  return kind == TaskKind::kMap ? job.spec.map_time : job.spec.reduce_time;
}

Time FromBefore(const ClusterState& state, const JobState& job, TaskKind kind) {
  const JobProfile& profile = job.spec.profile;
  const Time before = kind == TaskKind::kMap ? profile.map_time : profile.reduce_time;
  if (profile.runs > 0 && before > 0) return before;
  return state.MeanTime(kind).value_or(kUnknownTaskTime);
}

}  // namespace

Time DeclaredTime(const ClusterState& state, const JobState& job, TaskKind kind) {
  if (const Time said = Said(job, kind); said > 0) return said;
  if (const auto mean = job.MeanTime(kind)) return *mean;
  return FromBefore(state, job, kind);
}

Time MeasuredTime(const ClusterState& state, const JobState& job, TaskKind kind) {
  if (const auto mean = job.MeanTime(kind)) return *mean;
  if (const Time said = Said(job, kind); said > 0) return said;
  return FromBefore(state, job, kind);
}

double RemainingWork(const ClusterState& state, const JobState& job, TaskKind kind) {
  return static_cast<double>(job.Pending(kind).size()) * static_cast<double>(MeasuredTime(state, job, kind));
}

}  // namespace millrace::sched
