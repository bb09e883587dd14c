// SPDX-License-Identifier: Apache-2.0
// JobNumbers gives out the numbers of jobs, and tells what is known of a number without a record: that no job has had
// it, that its job is forgotten, or that its job may be lost with a later state of the database (lost_jobs.h). The
// counter is stored under "k", the last forgotten job under kForgottenKey. Pure. Thread rule: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/kv/key_value_store.h"
#include "base/log.h"
#include "base/status.h"
#include "master/cluster/lineage.h"
#include "master/jobs/job_record.h"
#include "master/jobs/job_table.h"
#include "master/jobs/lost_jobs.h"
#include "master/jobs/reserved_counter.h"

namespace millrace::master {

class JobNumbers {
 public:
  // `remembered` is how many ended jobs are remembered.
  JobNumbers(std::size_t remembered, Log log) : remembered_(remembered), log_(std::move(log)) {}

  // Requires: this object is new, and `jobs` is loaded.
  [[nodiscard]] Status Load(const KeyValueStore& store, const JobTable& jobs);

  // Returns the number of the next job.
  [[nodiscard]] std::uint64_t next() const { return counter_.next(); }
  [[nodiscard]] JobId Next(WriteBatch* batch);
  // Does what ReservedCounter::Reserve does.
  [[nodiscard]] std::uint64_t Reserve(WriteBatch* batch) { return counter_.Reserve(batch); }

  // Notes that the job, which ended at `ended`, is no longer remembered.
  void NoteForgotten(JobId job, Micros ended, WriteBatch* batch);
  [[nodiscard]] const ForgottenJobs& forgotten() const { return forgotten_; }

  // Goes on with numbers that no earlier state of the database can have given. `known` is the time until when the
  // database knows what happened, since the epoch; 0: unknown.
  void OpenGap(DoubtCause cause, Micros known, Micros now, WriteBatch* batch);
  // Takes in that a job without a record was met: `how` is as in LostJobs::Note. A number that was not given yet shows
  // that the database was set back.
  void NoteMet(JobId job, const std::string& how, Micros now, WriteBatch* batch);
  // Takes in a submission that the audit log tells of, of a job without a record.
  void NoteSubmission(const SubmittedJob& job, Micros now, WriteBatch* batch);
  [[nodiscard]] const LostJobs& lost() const { return lost_; }

  // Returns why a job has no record: kNotFound.
  [[nodiscard]] Status Missing(JobId job) const;

 private:
  [[nodiscard]] Status LoadForgotten(const KeyValueStore& store, const JobTable& jobs, JobId first);

  const std::size_t remembered_;
  Log log_;
  ReservedCounter counter_{"k", 16};
  std::uint64_t unsure_from_ = 1, loaded_next_ = 1;  // numbers that Load cannot know to be unused: between these
  ForgottenJobs forgotten_;
  bool keeps_forgotten_ = false;  // the database has forgotten_
  LostJobs lost_;
};

}  // namespace millrace::master
