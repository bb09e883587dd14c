// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/history.h"

#include <memory>
#include <utility>

#include "client/job_client/job_client.h"
#include "lab/advise/candidates.h"
#include "lab/advise/redraw.h"
#include "lab/command/history_command.h"
#include "lab/command/sim_workload.h"
#include "lab/journal/export_workload.h"
#include "lab/journal/journal_result.h"
#include "lab/model/cores_share.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::compare {
namespace {

// Draws by `draw`, which gives the same jobs for every seed, and then changes the jobs for all seeds but `as_it_was`.
DrawSimulation Redrawing(DrawSimulation draw, std::uint64_t as_it_was) {
  return [draw = std::move(draw), as_it_was](std::uint64_t seed) -> Result<sim::SimulationFile> {
    MILLRACE_ASSIGN(sim::SimulationFile file, draw(seed));
    if (seed != as_it_was) file.workload = Redraw(file.workload, seed);
    return file;
  };
}

Result<std::optional<sim::SimResult>> WhatHappened(const std::string& journal, const sim::ExportedWorkload& exported,
                                                   const History& history) {
  sim::JournalView view;
  view.jobs = exported.jobs, view.nodes = exported.nodes, view.begin = exported.begin, view.task_rows = false;
  view.sample_interval = SampleInterval(history.file);
  view.scheduler = history.in_force.scheduler;
  MILLRACE_ASSIGN(sim::SimResult result,
                  sim::ResultOfJournal(journal, "the journal", history.file.workload, history.in_force.settings, view));
  if (result.summary.unfinished > 0) return std::optional<sim::SimResult>{};
  return std::optional<sim::SimResult>(std::move(result));
}

// Gives the tasks of the history the share of the cores with which they wait as long as they did.
Status ShareCores(double waited, History* history) {
  if (SlotsCostNothing(history->file)) return Status::Ok();
  sim::SimulationFile& file = history->file;
  MILLRACE_ASSIGN(history->cores_share,
                  sim::FitCoresShare(file.cluster, file.workload, history->in_force.scheduler,
                                     history->in_force.settings, {.seed = file.seed, .sample_interval = 0}, waited));
  sim::GiveShare(history->cores_share, &file.cluster);
  return Status::Ok();
}

}  // namespace

Result<History> HistoryOfCluster(const cli::Invocation& invocation, const std::string& since, std::int64_t seed) {
  MILLRACE_ASSIGN(const Micros begin, cli::TimeAgo(since));
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  job::JobClient client(*files);
  MILLRACE_ASSIGN(const job::SchedulerView view, client.ShowScheduler());
  MILLRACE_ASSIGN(const std::string journal, job::ReadWholeJournal(client));
  MILLRACE_ASSIGN(sim::ExportedWorkload exported, sim::ExportWorkload(journal, "the journal", begin));
  History history;
  history.name = "the last " + since, history.settings_file = view.file;
  history.in_force = {view.name, view.name, exported.settings, {}};
  MILLRACE_ASSIGN(history.in_force.settings, sched::ReadSettings(exported.settings));
  MILLRACE_ASSIGN(history.file, sim::ParseSimulation(exported.text, "the history", {}));
  if (seed >= 0) history.file.seed = static_cast<std::uint64_t>(seed);
  MILLRACE_ASSIGN(history.live, WhatHappened(journal, exported, history));
  MILLRACE_TRY(ShareCores(exported.waited, &history));
  history.text = std::move(exported.text);
  history.redrawn = history.of_cluster = true;
  const auto as_it_was = [file = history.file](std::uint64_t drawn) {
    Result<sim::SimulationFile> again = file;
    again->seed = drawn;
    return again;
  };
  history.draw = Redrawing(as_it_was, history.file.seed);
  return history;
}

Result<History> HistoryOfFile(const std::string& path, sched::Variant in_force, std::int64_t seed) {
  cli::WorkloadWords words;
  words.seed = seed;
  MILLRACE_ASSIGN(const cli::WorkloadSource source, cli::WorkloadSource::Read(words, path));
  History history;
  history.in_force = std::move(in_force);
  history.draw = [source](std::uint64_t drawn) { return source.Draw(drawn); };
  MILLRACE_ASSIGN(history.file, source.Draw(std::nullopt));
  MILLRACE_TRY(history.file.CheckSimulable());
  history.name = history.file.workload.name, history.text = source.text();
  MILLRACE_ASSIGN(const sim::SimulationFile other, history.draw(history.file.seed + 1));
  history.redrawn = CanRedraw(history.file.workload) && SameJobs(history.file.workload, other.workload);
  if (history.redrawn) history.draw = Redrawing(std::move(history.draw), history.file.seed);
  return history;
}

}  // namespace millrace::compare
