// SPDX-License-Identifier: Apache-2.0
#include "lab/command/calibrate.h"

#include <utility>

#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "client/cli/verbs.h"
#include "lab/beside/calibrated_file.h"
#include "lab/live/live_jobs.h"

namespace millrace::compare {
namespace {

constexpr int kCalibrationRuns = 3;
constexpr const char* kScheduler = "fifo";  // any will do: there is one job at a time

Status CheckSucceeded(const RunOutcome& outcome) {
  for (const sim::JobRow& job : outcome.result.jobs) {
    if (job.outcome != sched::JobOutcome::kSucceeded)
      return Invalid(Quote(job.name) + " did not succeed, so its tasks cannot be measured");
  }
  return Status::Ok();
}

Result<std::vector<RunOutcome>> MakeMeasuredRuns(Arena& arena, std::uint64_t seed) {
  std::vector<RunOutcome> outcomes;
  for (int run = 0; run <= kCalibrationRuns; ++run) {
    MILLRACE_ASSIGN(RunOutcome outcome, arena.Run({{kScheduler, kScheduler}, seed}));
    MILLRACE_TRY(CheckSucceeded(outcome));
    if (run > 0) outcomes.push_back(std::move(outcome));  // the first was for the warmth
  }
  return outcomes;
}

std::string TableOf(const sim::SimulationFile& file, const Costs& costs) {
  const auto time = [](const TaskCost& cost) {
    return cost.attempts > 0 ? Formatted("%.3f s", cost.taken / kSecond) : "-";
  };
  std::vector<std::vector<std::string>> rows{{"CLASS", "PROGRAM", "MAP", "REDUCE", "MAP OUTPUT"}};
  for (std::size_t i = 0; i < costs.classes.size(); ++i) {
    const ClassCost& cost = costs.classes[i];
    if (cost.of[TaskKind::kMap].attempts == 0) continue;
    rows.push_back({file.live.classes[i].name, file.live.classes[i].program, time(cost.of[TaskKind::kMap]),
                    time(cost.of[TaskKind::kReduce]),
                    cost.output_ratio >= 0 ? Formatted("%.3g", cost.output_ratio) : "-"});
  }
  return cli::FormatTable(rows);
}

}  // namespace

Result<std::string> Calibrate(Calibration calibration) {
  MILLRACE_ASSIGN(sim::SimulationFile file, calibration.draw(calibration.seed));
  const std::string workload = calibration.live.workload, where = calibration.live.kind;
  if (!KeepOneOfEachProgram(&file))
    return Invalid(workload + ": no class of jobs has a program, so there is nothing to calibrate");
  MILLRACE_ASSIGN(LocalFile target, LocalFile::Open(calibration.target, {.replace = true}));
  calibration.live.one_by_one = true;
  MILLRACE_ASSIGN(const std::unique_ptr<Arena> arena, MakeLiveArena(std::move(calibration.live)));
  MILLRACE_ASSIGN(const std::vector<RunOutcome> outcomes, MakeMeasuredRuns(*arena, calibration.seed));
  std::vector<MeasuredRun> runs;
  for (const RunOutcome& outcome : outcomes) runs.push_back({&file, &outcome});
  const Costs costs = MeasureCosts(runs, arena->Nodes());
  const std::string comment = "Measured by `millrace compare --calibrate` (--on " + where +
                              "), each job alone: the means of " + std::to_string(kCalibrationRuns) + " runs.";
  MILLRACE_ASSIGN(const std::string text, WithMeasuredTimes(calibration.text, workload, costs, comment));
  MILLRACE_TRY(WriteAll(target.fd(), text, calibration.target));
  MILLRACE_TRY(target.Commit());
  return TableOf(file, costs) + "\n" + calibration.target + " has these times\n";
}

}  // namespace millrace::compare
