#include "schedulers/history/estimates.h"

#include <algorithm>

namespace millrace::sched {
namespace {

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

}  // namespace millrace::sched
