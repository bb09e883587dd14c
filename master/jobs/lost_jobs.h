// SPDX-License-Identifier: Apache-2.0
// LostJobs knows which job numbers an earlier state of the database may have given out, before it was set back to an
// older one (master/cluster/lineage.h: DoubtCause). Such numbers are never given again. Jobs of them that anything
// still tells of, such as a worker with their attempts, are remembered as lost. Pure. Thread rule: control thread.
//
// The gaps are stored under "gaps", and each lost job under "l/<job>". Only the last kMostGaps and kMostLost are kept.
//
// How wide a gap is: the numbers that were given since the backup are not known, so that the next number is beyond
// kNumbersAtOnce numbers, and beyond kNumbersEachSecond for each second since the last thing that the database knows
// of. The second part separates restorations of the same backup from each other: the jobs between them do not meet the
// numbers of the later one unless more than kNumbersEachSecond were submitted for the whole time in between. Both are
// as small as they are since the schedulers have tables by the number of the job, in which a gap costs memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "master/cluster/lineage.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

// Numbers of jobs that the database does not know.
struct NumberGap {
  std::uint64_t first = 0, end = 0;  // the first number, and the first after the gap
  DoubtCause cause = {};
  Micros known = 0;   // until when the database knows what happened, since the epoch; 0: unknown
  Micros opened = 0;  // when the gap was found
  bool operator==(const NumberGap&) const = default;
};

// Returns the first number after a gap that begins at `next`. Never returns a number after the last one of a job id.
// `known` and `now` are as in NumberGap.
[[nodiscard]] std::uint64_t NumberAfterGap(std::uint64_t next, Micros known, Micros now);

class LostJobs {
 public:
  static constexpr std::uint64_t kNumbersAtOnce = 1'000'000;
  static constexpr std::uint64_t kNumbersEachSecond = 1;
  static constexpr std::size_t kMostGaps = 100;
  static constexpr std::size_t kMostLost = 1000;

  // Requires: this object is new.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // Adds a gap.
  void Open(const NumberGap& gap, WriteBatch* batch);
  // Remembers a job of a gap: `how` says how it is known, as a sentence's end. `name` and `owner` may be unknown and
  // empty. Does nothing if the number is in no gap, or the job is remembered already.
  void Note(JobId job, const std::string& how, const std::string& name, const std::string& owner, Micros now,
            WriteBatch* batch);

  // Returns the gap that the number is in; null if there is none.
  [[nodiscard]] const NumberGap* GapOf(JobId job) const;
  // Returns the record of a lost job, which has ended as killed, with the reason in words; null if it is none.
  [[nodiscard]] const JobRecord* Find(JobId job) const;
  // Returns at most `limit` lost jobs with greater ids than `after`, in order.
  [[nodiscard]] std::vector<JobId> After(JobId after, std::size_t limit) const;
  // Returns why a job is not remembered: kNotFound, which says whether its number is in a gap.
  [[nodiscard]] Status Missing(JobId job) const;

 private:
  void Remember(JobId job, std::string_view how, const std::string& name, const std::string& owner, Micros noted);

  std::deque<NumberGap> gaps_;  // in the order of their opening
  std::map<JobId, JobRecord> jobs_;
};

// A job that a line of the audit log says was submitted.
struct SubmittedJob {
  JobId job;
  std::string user, time, name;
};

// Returns the submission that a line of the audit log (master/access/audit_log.h, either format) tells of; nothing if
// it tells of none. The name is as the line shows it.
[[nodiscard]] std::optional<SubmittedJob> ReadSubmission(std::string_view line);

}  // namespace millrace::master
