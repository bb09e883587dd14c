// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/pool_places.h"

#include <utility>

namespace millrace::sched {
namespace {

// Returns a kind of tasks that the job has and its pool may not run; nothing if there is none.
std::optional<TaskKind> Closed(const JobState& job, const PoolSettings& pool) {
  if (job.progress.maps > 0 && pool.max_maps.value_or(1) == 0) return TaskKind::kMap;
  if (job.progress.reduces > 0 && pool.max_reduces.value_or(1) == 0) return TaskKind::kReduce;
  return std::nullopt;
}

}  // namespace

std::uint32_t PoolPlaces::Taken(const std::string& pool) const {
  const auto at = holders_.find(pool);
  return at == holders_.end() ? 0 : at->second;
}

bool PoolPlaces::MayTake(const JobState& job) const {
  if (pool_of_.contains(job.progress.job)) return true;
  const PoolSettings& pool = Of(job);
  if (Closed(job, pool)) return false;
  return !pool.max_running_jobs || Taken(job.spec.PoolName()) < *pool.max_running_jobs;
}

void PoolPlaces::Take(const JobState& job) {
  if (pool_of_.try_emplace(job.progress.job, job.spec.PoolName()).second) ++holders_[job.spec.PoolName()];
}

void PoolPlaces::Give(JobId job) {
  const auto at = pool_of_.find(job);
  if (at == pool_of_.end()) return;
  if (--holders_.at(at->second) == 0) holders_.erase(at->second);
  pool_of_.erase(at);
}

WaitView PoolPlaces::WhyNot(const JobState& job, TaskKind kind) const {
  const std::string& name = job.spec.PoolName();
  const auto closed = Closed(job, Of(job));
  WaitView wait(job.progress.job, kind, closed == kind ? WaitCause::kGroupFull : WaitCause::kGroupJobs);
  wait.group = name;
  if (!closed) wait.used = Taken(name), wait.of = Of(job).max_running_jobs.value_or(0);
  return wait;
}

Settings PoolPlaces::WithoutRunningLimits(Settings settings) {
  settings.Of<PoolDefaults>().pool.max_running_jobs.reset();
  for (auto& [name, pool] : settings.Named<PoolSettings>()) pool.max_running_jobs.reset();
  return settings;
}

}  // namespace millrace::sched
