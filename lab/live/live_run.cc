// SPDX-License-Identifier: Apache-2.0
#include "lab/live/live_run.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/crc32c.h"
#include "base/text.h"
#include "client/job_client/executable_store.h"
#include "client/job_client/job_client.h"
#include "lab/journal/journal_result.h"
#include "lab/live/job_run.h"
#include "schedulers/offering/common_settings.h"

namespace millrace::compare {
namespace {

Result<std::uint32_t> Checksum(dfs::DfsClient& files, const dfs::FileStatus& file) {
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileReader> reader, files.Open(file.path));
  std::uint32_t sum = 0;
  MILLRACE_TRY(reader->Stream(0, file.length, [&sum](std::string_view bytes) {
    sum = Crc32c(bytes, sum);
    return true;
  }));
  return sum;
}

// Adds the master's CPU time to the outcome of a run. A master that does not report it, such as an older one, has
// counted no events.
void AddCost(const job::SchedulerView::Cost& before, const job::SchedulerView::Cost& after, RunOutcome* outcome) {
  constexpr double kNanosPerSecond = 1e9;
  if (after.events <= before.events) return;
  outcome->result.summary.events = after.events - before.events;
  outcome->result.decision_seconds = static_cast<double>(after.deciding - before.deciding) / kNanosPerSecond;
  outcome->master_cpu_seconds =
      static_cast<double>(after.master_cpu - before.master_cpu) / static_cast<double>(kSecond);
}

}  // namespace

Result<LiveWorkload> LoadLive(const LiveOptions& options, std::uint64_t seed, const sched::Settings& settings,
                              const std::string& root) {
  sim::Overrides overrides = options.overrides;
  overrides.seed = seed;
  LiveWorkload workload;
  MILLRACE_ASSIGN(workload.file, sim::LoadSimulation(options.workload, overrides));
  if (options.one_by_one && !KeepOneOfEachProgram(&workload.file))
    return Invalid(options.workload + ": no class of jobs has a program, so there is nothing to calibrate");
  if (workload.file.workload.jobs.empty()) return Invalid(options.workload + ": there are no jobs");
  LiveJobsOptions live;
  const std::size_t slash = options.workload.rfind('/');
  live.directory = slash == std::string::npos ? "./" : options.workload.substr(0, slash + 1);
  live.data = root + "/data", live.outputs = root + "/out";
  live.speculates = settings.Of<sched::SpeculationSettings>().on();
  MILLRACE_ASSIGN(workload.live, MakeLiveJobs(workload.file, live));
  for (std::size_t i = 0; i < workload.live.jobs.size(); ++i) {
    Result<cli::Prepared> prepared = cli::PrepareRun(options.invocation, workload.live.jobs[i]);
    const sim::LiveClass& of = workload.file.live.classes[workload.file.live.class_of[i]];
    if (!prepared.ok()) return prepared.status().Within(of.place + " (" + of.name + ")");
    workload.executables.insert(prepared->executable);
    workload.prepared.push_back(std::move(*prepared));
  }
  return workload;
}

Status StoreExecutables(dfs::DfsClient& files, const std::set<std::string>& executables) {
  for (const std::string& executable : executables) {
    MILLRACE_TRY(job::StoreExecutable(files, executable, "compare").status());
  }
  return Status::Ok();
}

Result<RunOutcome> RunLive(dfs::DfsClient& files, const LiveOptions& options, const cli::Invocation& invocation,
                           LiveWorkload workload, const sched::Variant& scheduler, const NodeNumbers& nodes,
                           local::Signals& signals) {
  std::map<std::string, StoredExecutable> stored;  // so that each is read once
  for (cli::Prepared& prepared : workload.prepared) {
    prepared.request.executable = stored[prepared.executable];
    MILLRACE_TRY(cli::CompleteRequest(invocation, files, &prepared).Within(Quote(prepared.request.name)));
    stored[prepared.executable] = prepared.request.executable;
  }
  job::JobClient client(files);
  MILLRACE_ASSIGN(const job::SchedulerView before, client.ShowScheduler());
  MILLRACE_ASSIGN(const RunOfJobs run,
                  RunJobs(files, workload.file.workload, workload.prepared, options.patience, signals));
  MILLRACE_ASSIGN(const job::SchedulerView after, client.ShowScheduler());
  sim::JournalView view;
  view.jobs = run.jobs, view.nodes = nodes, view.begin = run.begin, view.scheduler = scheduler.scheduler;
  view.sample_interval = options.sample_interval;
  RunOutcome outcome;
  MILLRACE_ASSIGN(outcome.result,
                  sim::ResultOfJournal(run.journal, "the journal", workload.file.workload, scheduler.settings, view));
  outcome.result.scheduler = scheduler.label;
  MILLRACE_ASSIGN(outcome.facts, sim::FactsOfJournal(run.journal, "the journal", workload.file.workload, view));
  AddCost(before.cost, after.cost, &outcome);
  std::vector<std::string> outputs;
  for (const cli::Prepared& prepared : workload.prepared) outputs.push_back(prepared.request.output);
  MILLRACE_ASSIGN(outcome.outputs, DigestOutputs(files, outputs));
  return outcome;
}

Result<std::string> DigestOutputs(dfs::DfsClient& files, const std::vector<std::string>& directories) {
  std::uint32_t digest = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    std::vector<dfs::FileStatus> found;
    const Status listed = files.List(directories[i], [&found](const dfs::FileStatus& file) {
      if (!file.directory) found.push_back(file);
      return true;
    });
    if (!listed.ok() && listed.code() != StatusCode::kNotFound) return listed;
    std::ranges::sort(found, {}, &dfs::FileStatus::path);
    for (const dfs::FileStatus& file : found) {
      MILLRACE_ASSIGN(const std::uint32_t sum, Checksum(files, file));
      const std::string name = file.path.substr(file.path.rfind('/') + 1);
      digest =
          Crc32c(std::to_string(i) + "/" + name + " " + std::to_string(file.length) + " " + std::to_string(sum) + "\n",
                 digest);
      bytes += file.length;
    }
  }
  if (bytes == 0) return std::string();
  char text[48];
  std::snprintf(text, sizeof text, "%08x of %llu bytes", digest, static_cast<unsigned long long>(bytes));
  return std::string(text);
}

}  // namespace millrace::compare
