#include "schedulers/policies/fresh/least_served.h"

#include <utility>

#include "schedulers/policies/fair/pool_jobs.h"

namespace millrace::sched {

ServiceFraction ServiceOf(const JobState& job, Micros now) {
  ServiceFraction service{job.progress.job};
  service.weight = static_cast<std::uint32_t>(4 * PriorityWeight(job.progress.priority));
  for (const TaskKind kind : kTaskKinds) service.running += job.running_attempts[kind];
  if (!job.started || job.progress.started >= now) return service;
  for (const TaskKind kind : kTaskKinds) service.used += job.SlotTime(kind, now);
  service.age = now - job.progress.started;
  return service;
}

bool LeastServedFirst(const ServiceFraction& a, const ServiceFraction& b) {
  const __int128 left = static_cast<__int128>(a.used) * b.age * b.weight;
  const __int128 right = static_cast<__int128>(b.used) * a.age * a.weight;
  if (left != right) return left < right;
  const std::uint64_t fewer = std::uint64_t{a.running} * b.weight, than = std::uint64_t{b.running} * a.weight;
  return std::pair(fewer, a.job) < std::pair(than, b.job);
}

}  // namespace millrace::sched
