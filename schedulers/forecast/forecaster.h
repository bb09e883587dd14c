// SPDX-License-Identifier: Apache-2.0
// Forecaster: statements of when jobs start and end, and the judgement of them by what then happens.
//
// A driver (the master, the simulator) plays the engine forward now and then (play_forward.h), on whatever thread, and
// has State make statements of what the play says. It tells the forecaster when jobs start and end. Of all statements
// of one kind that are made of a job, two are judged: the first, and one of the others, drawn with equal chances by a
// hash. So the record speaks for statements made at any time, and a job counts no more often if somebody asks often.
//
// What is learnt when a job ends, or its wait does: a judged statement becomes a record (intervals.h), and the times of
// its tasks are learnt (task_times.h). A job that fails or is killed ends no statement of its end: nobody foretells
// that. Thread rule: one thread; a value, which may be copied to another thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/forecast/intervals.h"
#include "schedulers/forecast/play_forward.h"
#include "schedulers/forecast/task_times.h"

namespace millrace::sched {

// What is said of one start or end. Intervals are counted from Statement::made.
struct Said {
  std::optional<Micros> at;  // the point in time by the play; nothing: unknown. Spread::likely is what people are told
  Unforeseen why = Unforeseen::kNone;
  Foretold what = Foretold::kStart;
  Spread spread;  // means nothing if `at` is unknown
};

struct Statement {
  JobId job;
  Micros made = 0;
  std::optional<Said> start;  // nothing: the job has started
  Said end;
};

// The facts of a job that the judgement needs.
struct JobFacts {
  std::uint64_t program = 0;  // HashOf the program; 0: it has none
};

class Forecaster {
 public:
  // Returns statements about the jobs of a play that began at `made` under `scheduler`, in their order. No job probably
  // ends before it probably starts, and no interval of an end begins or ends before that of the start at its level.
  // `facts` has each of these jobs. Const, so that a copy can do it on another thread.
  [[nodiscard]] std::vector<Statement> State(const Played& play, Micros made, std::string_view scheduler,
                                             const std::map<JobId, JobFacts>& facts) const;
  // Takes statements note of, so that they may be judged. Statements of jobs for which Started or Ended was called
  // since they were made are left out where they no longer say anything. Requires: the jobs live.
  void Note(const std::vector<Statement>& statements, std::string_view scheduler,
            const std::map<JobId, JobFacts>& facts);
  // The job is on hold. What was said of it assumed that it is not, and is not judged.
  void Withdraw(JobId job);
  // The job's first task was launched. Returns what was judged.
  std::vector<ForetoldRecord> Started(JobId job, Micros at);
  // The job has ended. Returns what was judged. Requires: `job` has ended.
  std::vector<ForetoldRecord> Ended(const JobState& job);
  // Another scheduler, or the same one with other settings, decides from now on.
  void SchedulerChanged();

  [[nodiscard]] const TaskTimes& times() const { return times_; }
  [[nodiscard]] const Intervals& intervals() const { return intervals_; }
  [[nodiscard]] Intervals& intervals() { return intervals_; }

 private:
  // A statement that is to be judged.
  struct Open {
    ForetoldRecord record;  // without its outcome
    Micros said_at = 0;     // when it was said
    std::vector<Interval> intervals;
  };
  // Those of one kind about a job, and how many were made.
  struct OpenKind {
    std::uint32_t made = 0;
    Open first, other;
  };
  void NoteOne(JobId job, Micros made, const Said& said, std::uint64_t program, std::uint64_t scheduler);
  void Judge(OpenKind& open, Micros at, std::vector<ForetoldRecord>* judged);

  TaskTimes times_;
  Intervals intervals_;
  std::map<std::pair<JobId, Foretold>, OpenKind> open_;
};

}  // namespace millrace::sched
