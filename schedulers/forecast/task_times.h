// SPDX-License-Identifier: Apache-2.0
// TaskTimes: how long the tasks of a job will probably take, learnt from tasks and jobs that have ended. The play of
// the future (play_forward.h) needs a time for every task.
//
// The rule, as code, for the maps of a job, and in the same way for its reduces:
//
//   some of its own maps have ended:             their mean                                     (kOwn)
//   else the user gave an estimate:              the estimate                                   (kUser)
//   else jobs of its program have ended:         the mean of those with maps of about the same size,
//                                                else of all of them                            (kProgram)
//   else its profile (job_history.h) has a time: that time                                      (kProgram)
//   else jobs have ended with maps of a size within a factor of 8: the mean of those closest    (kAlike)
//   else nothing                                                                                (kNothing)
//
// The size of a map is the mean of its job's bytes of input, that of a reduce the job's bytes of input for each reduce.
// Sizes are about the same if their logarithms to the base 2 round to the same number. A mean over jobs is an
// exponential one: each job that ends counts an eighth, and the first few count equally. At most kMostKinds kinds of
// jobs are remembered; the kind that was learnt the longest ago is forgotten first. Thread rule: one thread; a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"

namespace millrace::sched {

enum class TimeBasis : std::uint8_t { kNothing, kAlike, kProgram, kUser, kOwn };

// The expected times of the tasks of one job. `copy` and `compute` are those of a reduce as ReduceParts counts them.
struct ExpectedTimes {
  Micros map = 0, copy = 0, compute = 0;
  PerKind<TimeBasis> basis = {};  // kNothing: the times of the kind mean nothing
  bool operator==(const ExpectedTimes&) const = default;
};

class TaskTimes {
 public:
  static constexpr std::size_t kMostKinds = 2'000;

  // Learns from a job that has ended. Does nothing if it did not succeed.
  void Learn(const JobState& job);
  // Requires: the job lives.
  [[nodiscard]] ExpectedTimes Of(const JobState& job) const;
  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }

 private:
  // A program ("" for all together), a kind of task, and a size (kAnySize: all sizes).
  struct Kind {
    std::string program;
    TaskKind task = TaskKind::kMap;
    int size = 0;
    auto operator<=>(const Kind&) const = default;
  };
  struct Means {
    std::uint32_t jobs = 0;
    double first = 0, second = 0;  // of a map: its time; of a reduce: its copying and its computing
    std::uint64_t learnt = 0;      // when, by count
  };
  static constexpr int kAnySize = -1;

  void Add(Kind kind, double first, double second);
  [[nodiscard]] const Means* Find(const JobState& job, TaskKind task, TimeBasis* basis) const;

  std::map<Kind, Means> kinds_;
  std::uint64_t count_ = 0;
};

}  // namespace millrace::sched
