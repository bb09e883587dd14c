// SPDX-License-Identifier: Apache-2.0
// RunsProgress shows the progress of a comparison while its runs are made: the number of finished runs of each
// scheduler, and the time left. On a terminal it rewrites one line; elsewhere it prints a line now and then. Thread
// rule: one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/console/progress.h"
#include "lab/run/make_runs.h"

namespace millrace::compare {

// Returns the time of a clock of the machine that never goes back.
[[nodiscard]] Micros SteadyMicros();

class RunsProgress {
 public:
  using Now = std::function<Micros()>;  // any clock that does not go back
  RunsProgress(const console::Console& console, std::vector<std::string> schedulers, Now now);

  // `design` gives the number of runs; those that `store` has are done.
  void Start(const Design& design, const RunStore& store);
  void Begun(const PlannedRun& run, bool warm_up);
  void Ended(const RunRecord& record);
  void Clear() { line_.Clear(); }
  // Returns true if as many runs in a row were disturbed that the machine is taken to be too busy for a comparison.
  [[nodiscard]] bool TooBusy() const { return disturbed_ >= kMostDisturbed; }
  // Returns what disturbed the last of them.
  [[nodiscard]] const std::string& disturbance() const { return disturbance_; }
  static constexpr std::uint32_t kMostDisturbed = 3;

  // Returns "fair: 3 of 8 runs; 4 min 10 s left in all".
  [[nodiscard]] std::string LineOf(std::uint32_t scheduler) const;

 private:
  struct Count {
    std::size_t done = 0, all = 0;
    std::size_t finished = 0;  // by this command
    Micros took = 0;           // by all runs of this command, those that were made again included
  };
  [[nodiscard]] std::string TimeLeft() const;

  console::Console console_;
  std::vector<std::string> schedulers_;
  Now now_;
  console::StatusLine line_;
  std::vector<Count> counts_;  // by scheduler
  Micros begun_ = 0, told_ = 0;
  std::uint32_t disturbed_ = 0;  // runs in a row, up to the last one
  std::string disturbance_;
};

}  // namespace millrace::compare
