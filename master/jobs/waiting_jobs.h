// SPDX-License-Identifier: Apache-2.0
// WaitingJobs lists the jobs that the master has not given to the engine yet (JobRecord::waits): those that wait for
// the end of other jobs, and those that were submitted on hold. It says which of them to look at, so that a step costs
// nothing while no job of this kind could go on. It has no state of its own on disk: a master that starts fills it from
// the records. Pure. Thread rule: control thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

class WaitingJobs {
 public:
  // Adds a job, which is looked at in the next step. Requires: the record says that it waits.
  void Add(const JobRecord& record);
  // Removes a job that has ended, or that the engine now has. Requires: the record lists the jobs for which it waited.
  void Remove(const JobRecord& record);
  // Notes that a job has ended: the jobs that wait for it are looked at in the next step.
  void NoteEnded(JobId job);
  // Makes the next step look at the job, if it waits.
  void LookAt(JobId job);
  // Notes that the job no longer waits for the other one.
  void Settle(JobId job, JobId other);

  // Returns the jobs to look at, in order. A job stays among them until Passed.
  [[nodiscard]] const std::set<JobId>& due() const { return due_; }
  // Notes that the job has to wait for something else than this list knows to be over.
  void Passed(JobId job) { due_.erase(job); }

  // Returns the jobs that wait for this one, in order.
  [[nodiscard]] std::vector<JobId> WaitingFor(JobId job) const;

 private:
  std::set<JobId> all_, due_;
  std::map<JobId, std::set<JobId>> waiting_for_;  // by the job that is waited for
};

// Returns why the job is not given to the engine, or not launched: "waits for job3 to succeed", "is held, until
// `millrace job release 3`". Returns nothing for a job that is neither held nor waits, and for one that has ended.
[[nodiscard]] std::string WhyItWaits(const JobRecord& record);

}  // namespace millrace::master
