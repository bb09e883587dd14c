// SPDX-License-Identifier: Apache-2.0
// JournalReads: which journals of jobs a timeline of many jobs is behind, and which of them to read now. A call for
// each job that has changed would cost the master the more the busier it is; so only so many are read again at a time,
// those first that were read longest ago. Jobs that were never read come at once: each comes once.
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "client/job_client/job_types.h"

namespace millrace::ui {

class JournalReads {
 public:
  // The journal of a job hardly grows while nothing else that is known of the job changes.
  static constexpr Micros kStandingStillEvery = 5 * kSecond;
  static constexpr std::size_t kMostAgain = 10;  // that Due returns of jobs that were read before

  // Returns true if the job's journal may have lines that the last read did not see.
  [[nodiscard]] bool Behind(const JobStatus& job, Micros now) const;
  // Returns which of the jobs to read now: those that were never read, as they come, and then those that are behind and
  // were read longest ago. The pointers are into `jobs`.
  [[nodiscard]] std::vector<const JobStatus*> Due(const std::vector<JobStatus>& jobs, Micros now) const;
  // Says that the journal was read at `now`, when the job was as given.
  void Read(const JobStatus& job, Micros now) { read_.insert_or_assign(job.job, std::pair(job, now)); }
  // Forgets that the job's journal was read, so that it is read again.
  void Forget(JobId job) { read_.erase(job); }
  // Forgets all jobs that are not among these, which come by rising id.
  void Keep(const std::vector<JobStatus>& jobs);
  [[nodiscard]] std::size_t size() const { return read_.size(); }

 private:
  // Each job as it was when its journal was last read, and when that was.
  std::map<JobId, std::pair<JobStatus, Micros>> read_;
};

}  // namespace millrace::ui
