// PoolPlaces: max_running_jobs of pools, where another limit lets jobs in one after the other, too: FRESH's k. A job
// takes the place in its pool before it takes one in a phase. So nobody holds a place of k who waits for his pool, and
// of two jobs none holds what the other waits for.
//
// A job holds its place from the moment that it takes it until it ends, as in `fair` (fair_pool.h). One that has begun
// already, under another policy, holds a place even where these are more than the limit. A pool whose maximum of a kind
// is 0 has no place for a job with such tasks. Thread rule: one thread.
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
  // Takes back the place of a job that has ended, if it held one.
  void Give(JobId job);
  // Returns why the job has no slot of the kind. Requires: MayTake is false.
  [[nodiscard]] WaitView WhyNot(const JobState& job, TaskKind kind) const;
  // Returns the settings without what is decided here, for the policy that shares the slots among those let in.
  [[nodiscard]] static Settings WithoutRunningLimits(Settings settings);

 private:
  [[nodiscard]] const PoolSettings& Of(const JobState& job) const {
    return SettingsOfPool(settings_, job.spec.PoolName());
  }
  [[nodiscard]] std::uint32_t Taken(const std::string& pool) const;

  const Settings settings_;
  std::map<JobId, std::string> pool_of_;          // of the jobs that hold places
  std::map<std::string, std::uint32_t> holders_;  // how many of them, by pool
};

}  // namespace millrace::sched
