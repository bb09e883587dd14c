// SPDX-License-Identifier: Apache-2.0
// PoolPlaces: enforces max_running_jobs of pools for a policy that lets jobs in by a second limit as well, FRESH's k. A
// job takes the place in its pool before it takes one in a phase. So no job holds a place of k while it waits for its
// pool, and no two jobs wait for each other.
//
// A job holds its place from the moment that it takes it until it ends, as in `fair` (fair_pool.h), unless it comes to
// be over its user's limit before it has begun (JobState::over_limit). A job that has
// begun already, under another policy, holds a place even beyond the limit. A pool whose maximum of a kind is 0 has no
// place for a job with tasks of that kind. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/ids/ids.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/core/wait_view.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class PoolPlaces {
 public:
  explicit PoolPlaces(const Settings& settings) : settings_(settings) {}

  // Returns true if the job holds a place or may take one. O(log).
  [[nodiscard]] bool MayTake(const JobState& job) const;
  // Gives the job a place, whatever the limit; does nothing if it holds one.
  void Take(const JobState& job);
  // Frees the place of a job that has ended, or that has not begun and is over its user's limit, if it held one.
  void Give(JobId job);
  // Returns the reason why the job has no slot of the kind. Requires: MayTake is false.
  [[nodiscard]] WaitView WhyNot(const JobState& job, TaskKind kind) const;
  // Returns the settings without the limits that PoolPlaces enforces, for the policy that shares the slots among the
  // jobs let in.
  [[nodiscard]] static Settings WithoutRunningLimits(Settings settings);

 private:
  [[nodiscard]] const PoolSettings& Of(const JobState& job) const {
    return SettingsOfPool(settings_, job.spec.PoolName());
  }
  [[nodiscard]] std::uint32_t Taken(const std::string& pool) const;

  const Settings settings_;
  std::map<JobId, std::string> pool_of_;          // of the jobs that hold places
  std::map<std::string, std::uint32_t> holders_;  // the number of these jobs, by pool
};

}  // namespace millrace::sched
