// SPDX-License-Identifier: Apache-2.0
#include "lab/run/make_runs.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace millrace::compare {
namespace {

bool MayGoBetterNextTime(const Status& failure) {
  return failure.code() != StatusCode::kInvalid && failure.code() != StatusCode::kDenied &&
         failure.code() != StatusCode::kCancelled;
}

Result<RunOutcome> RunPatiently(Arena& arena, const RunRequest& request) {
  for (std::uint32_t again = 0;; ++again) {
    Result<RunOutcome> outcome = arena.Run(request);
    if (outcome.ok() || again == kMostAgain || !MayGoBetterNextTime(outcome.status())) return outcome;
  }
}

Status CheckOutputs(const RunRecord& record, const std::vector<sched::Variant>& schedulers, const RunStore& store) {
  if (record.outcome.outputs.empty()) return Status::Ok();
  for (const RunRecord& other : store.runs()) {
    if (other.run.seed != record.run.seed || other.outcome.outputs.empty()) continue;
    if (other.outcome.outputs == record.outcome.outputs) continue;
    return Corrupt("the outputs under " + schedulers[record.run.scheduler].label + " are not those under " +
                   schedulers[other.run.scheduler].label + ", of the same jobs and data (seed " +
                   std::to_string(record.run.seed) +
                   "): a job of the workload gives different results in every run, or one of these runs went wrong");
  }
  return Status::Ok();
}

}  // namespace

Result<Making> MakeRuns(Arena& arena, const Design& design, const std::vector<sched::Variant>& schedulers,
                        RunStore& store, const RunsWatch& watch) {
  const bool live = arena.Kind() != "sim";
  bool warm = !live;
  while (const std::optional<PlannedRun> next = NextRun(design, store.Made())) {
    if (watch.stop()) return Making::kStopped;
    watch.begun(*next, !warm);
    Result<RunOutcome> ran = RunPatiently(arena, {schedulers[next->scheduler], next->seed});
    if (ran.status().code() == StatusCode::kCancelled) return Making::kStopped;
    MILLRACE_ASSIGN(RunOutcome outcome, std::move(ran));
    if (!std::exchange(warm, true)) continue;
    RunRecord record{*next, std::move(outcome), std::nullopt};
    MILLRACE_TRY(CheckOutputs(record, schedulers, store));
    record.phases = PhasesOf(record.outcome.result);
    if (!live) record.outcome.result.tasks = {}, record.outcome.result.samples = {};
    watch.ended(record);
    MILLRACE_TRY(store.Add(std::move(record)));
  }
  return Making::kComplete;
}

std::size_t RunsLeft(const Design& design, const RunStore& store) {
  const std::size_t of_block = RunsOfBlock(design, 0).size();
  return design.blocks * of_block - store.Counting(design.blocks).size();
}

}  // namespace millrace::compare
