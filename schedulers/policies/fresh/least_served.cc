#include "schedulers/policies/fresh/least_served.h"

#include <algorithm>
#include <utility>

#include "schedulers/policies/fair/pool_jobs.h"

namespace millrace::sched {

std::vector<LeastServed::Service>::iterator LeastServed::Find(JobId job) {
  return std::lower_bound(line_.begin(), line_.end(), job,
                          [](const Service& service, JobId id) { return service.job < id; });
}

void LeastServed::Put(const JobState& job) {
  const JobId id = job.progress.job;
  auto at = Find(id);
  if (at == line_.end() || at->job != id) at = line_.insert(at, {id});
  at->has_started = job.started;
  at->started = job.progress.started;
  at->weight = static_cast<std::uint32_t>(4 * PriorityWeight(job.progress.priority));
  at->running = 0;
  at->used_at_start = 0;
  for (const TaskKind kind : kTaskKinds) {
    at->running += job.running_attempts[kind];
    at->used_at_start += job.SlotTime(kind, at->started);
  }
}

void LeastServed::Remove(JobId job) {
  const auto at = Find(job);
  if (at != line_.end() && at->job == job) line_.erase(at);
}

// Equal fractions are equal: a division of whole numbers below 2^53 is rounded correctly.
double LeastServed::Share(const Service& service, Micros now) {
  const Micros age = now - service.started;
  if (!service.has_started || age <= 0) return 0;
  return static_cast<double>(service.used_at_start + service.running * age) /
         static_cast<double>(age * Micros{service.weight});
}

std::optional<JobId> LeastServed::First(Micros now) const {
  const Service* first = nullptr;
  double least = 0;
  for (const Service& service : line_) {
    if (service.excluded) continue;
    const double share = Share(service, now);
    // Of equal shares the one with fewer tasks for its weight is less.
    const auto fewer_or_as_few = [&] {
      return std::uint64_t{first->running} * service.weight <= std::uint64_t{service.running} * first->weight;
    };
    if (first != nullptr && (least < share || (least == share && fewer_or_as_few()))) continue;
    first = &service;
    least = share;
  }
  return first == nullptr ? std::nullopt : std::optional(first->job);
}

void LeastServed::Exclude(JobId job) {
  Find(job)->excluded = true;
  any_excluded_ = true;
}

void LeastServed::Readmit() {
  if (!std::exchange(any_excluded_, false)) return;
  for (Service& service : line_) service.excluded = false;
}

std::vector<JobId> LeastServed::InOrder(Micros now) const {
  LeastServed left = *this;
  left.Readmit();
  std::vector<JobId> jobs;
  while (const auto job = left.First(now)) {
    jobs.push_back(*job);
    left.Remove(*job);
  }
  return jobs;
}

std::vector<JobId> LeastServed::Jobs() const {
  std::vector<JobId> jobs;
  for (const Service& service : line_) jobs.push_back(service.job);
  return jobs;
}

}  // namespace millrace::sched
