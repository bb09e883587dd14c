#include "lab/live/live_run.h"

#include "base/text.h"
#include "client/job_client/executable_store.h"
#include "client/job_client/job_client.h"
#include "lab/journal/journal_result.h"
#include "lab/live/job_run.h"
#include "lab/live/outputs.h"
#include "schedulers/offering/common_settings.h"

namespace millrace::compare {
namespace {

// What the master has spent on a run. A master that does not tell, such as an older one, has counted no events.
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

}  // namespace millrace::compare
