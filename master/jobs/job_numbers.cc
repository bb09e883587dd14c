// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_numbers.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/ids/counted.h"

namespace millrace::master {

Status JobNumbers::Load(const KeyValueStore& store, const JobTable& jobs) {
  MILLRACE_TRY(counter_.Load(store));
  MILLRACE_TRY(lost_.Load(store));
  const std::vector<JobId> all = jobs.After(JobId{0}, std::numeric_limits<std::size_t>::max(), false);
  unsure_from_ = std::max<std::uint64_t>(all.empty() ? 1 : std::uint64_t{all.back().value} + 1, counter_.UnsureFrom());
  loaded_next_ = counter_.next();
  return LoadForgotten(store, jobs, all.empty() ? JobId{0} : all.front());
}

// A database of an earlier release does not tell what was forgotten; that is taken from the jobs that it has.
Status JobNumbers::LoadForgotten(const KeyValueStore& store, const JobTable& jobs, JobId first) {
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(kForgottenKey));
  keeps_forgotten_ = stored.has_value();
  if (stored) {
    MILLRACE_ASSIGN(forgotten_, DecodeForgotten(*stored));
  } else if (first.value > 1) {
    forgotten_ = {JobId{first.value - 1}, jobs.Find(first)->record.submitted};
  }
  return Status::Ok();
}

JobId JobNumbers::Next(WriteBatch* batch) {
  const JobId job{static_cast<std::uint32_t>(counter_.Next(batch))};
  if (!std::exchange(keeps_forgotten_, true)) batch->Put(kForgottenKey, EncodeForgotten(forgotten_));
  return job;
}

void JobNumbers::NoteForgotten(JobId job, Micros ended, WriteBatch* batch) {
  forgotten_ = {std::max(forgotten_.last, job), std::max(forgotten_.until, ended)};
  batch->Put(kForgottenKey, EncodeForgotten(forgotten_));
}

void JobNumbers::OpenGap(DoubtCause cause, Micros known, Micros now, WriteBatch* batch) {
  const std::uint64_t next = counter_.next();
  NumberGap gap{next, NumberAfterGap(next, known, now), cause, known, now};
  // The numbers from unsure_from_ on were reserved when the database was as it was loaded, and may have been given
  // then. Those from loaded_next_ on were given by this master.
  if (next == loaded_next_) {
    gap.first = unsure_from_;
  } else if (unsure_from_ < loaded_next_) {
    lost_.Open({unsure_from_, loaded_next_, cause, known, now}, batch);
  }
  unsure_from_ = loaded_next_;
  log_->warn("numbers of jobs go on with {}: those from {} on may have been given to jobs that the database lost",
             gap.end, gap.first);
  counter_.SkipTo(gap.end, batch);
  lost_.Open(gap, batch);
}

void JobNumbers::NoteMet(JobId job, const std::string& how, Micros now, WriteBatch* batch) {
  if (job.value >= counter_.next() && lost_.GapOf(job) == nullptr) {
    counter_.SkipTo(std::max<std::uint64_t>(counter_.next(), job.value), batch);
    OpenGap(DoubtCause::kSetBack, 0, now, batch);
  }
  lost_.Note(job, how, "", "", now, batch);
}

void JobNumbers::NoteSubmission(const SubmittedJob& job, Micros now, WriteBatch* batch) {
  lost_.Note(job.job, "the audit log has its submission, at " + job.time, job.name, job.user, now, batch);
}

// A number up to that of the last forgotten job was given, unless a restart of the master passed over it.
Status JobNumbers::Missing(JobId job) const {
  const bool passed = job.value < 1 || job > forgotten_.last;
  if (passed || lost_.Find(job) != nullptr || lost_.GapOf(job) != nullptr) return lost_.Missing(job);
  return NotFound(
      ToText(job) +
      ": if there was such a job, it is no longer remembered, nor how it ended: the master keeps the last " +
      Counted(remembered_, "ended job") +
      " (master.history_jobs); the master's log has a line for the end of each, and its audit log, if it "
      "keeps one (audit.log), for each submission");
}

}  // namespace millrace::master
