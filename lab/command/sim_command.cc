// SPDX-License-Identifier: Apache-2.0
#include "lab/command/sim_command.h"

#include <algorithm>
#include <optional>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/ids/counted.h"
#include "base/local_place.h"
#include "base/text.h"
#include "client/cli/verbs.h"
#include "lab/command/programs.h"
#include "lab/command/scheduler_names.h"
#include "lab/command/sim_workload.h"
#include "lab/journal/replay.h"
#include "lab/measure/report.h"
#include "lab/model/simulate.h"
#include "lab/workload/simulation_file.h"

namespace millrace::cli {
namespace {

using console::Arguments;
using console::Printer;

constexpr const char* kVerb = "sim";
constexpr std::uint64_t kTasksByDefault = 2'000'000;  // tables with more rows are written only on request

// These are the words of the command line.
struct SimWords {
  WorkloadWords workload;
  SchedulerWords schedulers;
  ProgramWords programs;
  std::string directory, journal;
  std::string think = "0s";
  bool slowdowns = false, tasks = false, no_tasks = false, replay = false, json = false, wide = false;
};

struct Plan {
  sim::SimulationFile file;
  std::vector<sched::Variant> schedulers;
  sim::SimOptions options;
};

void Declare(Arguments& arguments, SimWords* words) {
  DeclareSchedulers(arguments, &words->schedulers, "");
  arguments.Text("-o,--output", &words->directory, "directory for reports in JSON and CSV (default: only the table)");
  DeclareWorkload(arguments, &words->workload);
  arguments.Flag("--slowdown", &words->slowdowns, "also run each job alone and report slowdowns");
  arguments.Flag("--tasks", &words->tasks, "write a row for each attempt, however many there are");
  arguments.Flag("--no-tasks", &words->no_tasks, "write no rows for attempts");
  arguments.Text("--journal", &words->journal, "write the events of the run to this file; for a single scheduler");
  arguments.Flag("--replay", &words->replay,
                 "read WORKLOAD as a journal, and check that a replay makes the same decisions");
  DeclarePrograms(arguments, &words->programs);
  DeclareThinking(arguments, &words->think);
  arguments.Flag("--json", &words->json, "print the comparison as one JSON array");
  arguments.Flag("--wide", &words->wide, "print all columns, even if they do not fit into 80 columns");
}

Result<Plan> MakePlan(const SimWords& words, const std::string& path, const std::string& directory) {
  Plan plan;
  MILLRACE_ASSIGN(plan.options.launch, LaunchOf(words.programs, directory));
  MILLRACE_ASSIGN(Schedulers schedulers, ReadSchedulers(words.schedulers, plan.options.launch));
  plan.schedulers = std::move(schedulers.variants);
  if (!words.directory.empty()) MILLRACE_TRY(sim::CheckReportDirectory(words.directory, LabelsOf(plan.schedulers)));
  if (!words.journal.empty() && plan.schedulers.size() > 1)
    return Invalid("--journal is for the run of one scheduler only");
  MILLRACE_ASSIGN(const WorkloadSource source, WorkloadSource::Read(words.workload, path));
  MILLRACE_ASSIGN(plan.file, source.Draw(std::nullopt));
  MILLRACE_TRY(plan.file.CheckSimulable());
  if (!words.directory.empty()) MILLRACE_TRY(PrepareDirectory(words.directory));
  plan.options.seed = plan.file.seed;
  plan.options.stop_at = plan.file.stop_at;
  MILLRACE_ASSIGN(plan.options.thinking, ReadThinking(words.think));
  const bool few = sim::TasksOf(plan.file.workload) <= kTasksByDefault;
  plan.options.task_rows = !words.directory.empty() && !words.no_tasks && (words.tasks || few);
  return plan;
}

// Prints notes that a reader of the table needs.
void SayWarnings(const Console& console, const SimWords& words, const Plan& plan,
                 const std::vector<sim::SimResult>& results) {
  double busiest = 0;
  for (const sim::SimResult& result : results) busiest = std::max(busiest, result.summary.utilisation_total);
  if (const std::string idle = sim::IdleWarning(busiest); !idle.empty()) console::SayLine(console, "warning: " + idle);
  if (!words.directory.empty() && !words.no_tasks && !plan.options.task_rows) {
    console::SayLine(console, "tasks.csv was left out: it would have " +
                                  Counted(sim::TasksOf(plan.file.workload), "row") +
                                  " for each scheduler; --tasks writes it");
  }
}

// The file of --journal, if there is to be one, and what goes into it.
struct JournalFile {
  std::optional<LocalFile> file;
  std::string lines;

  static Result<JournalFile> Open(const std::string& path) {
    JournalFile journal;
    if (path.empty()) return journal;
    MILLRACE_ASSIGN(LocalFile opened, LocalFile::Open(path, {.replace = true}));
    journal.file.emplace(std::move(opened));
    return journal;
  }
  Status Write(const std::string& path) {
    if (!file) return Status::Ok();
    MILLRACE_TRY(console::WriteOut(file->fd(), lines, Quote(path)));
    return file->Commit();
  }
};

Result<std::vector<sim::SimResult>> RunPlan(const SimWords& words, Plan& plan, JournalFile& journal) {
  if (words.slowdowns) {
    MILLRACE_ASSIGN(plan.options.alone, sim::AloneTimes(plan.file.cluster, plan.file.workload, plan.options));
  }
  if (journal.file) {
    plan.options.journal = [&journal](std::string_view line) { (journal.lines += line) += '\n'; };
  }
  std::vector<sim::SimResult> results;
  for (const sched::Variant& variant : plan.schedulers) {
    MILLRACE_ASSIGN(sim::SimResult result, sim::Simulate(plan.file.cluster, plan.file.workload, variant.scheduler,
                                                         variant.settings, plan.options));
    result.scheduler = variant.label;
    results.push_back(std::move(result));
  }
  return results;
}

int Replay(const Invocation& invocation, const SimWords& words, const std::string& path) {
  const Result<sched::Settings> settings = ReadSettings(words.schedulers);
  if (!settings.ok()) return invocation.FailToStart(kVerb, settings.status());
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return invocation.Fail(kVerb, text.status());
  const Result<sim::ReplayResult> replayed = sim::ReplayJournal(*text, path, words.schedulers.schedulers, *settings);
  if (!replayed.ok()) return invocation.Fail(kVerb, replayed.status());
  if (replayed->differs_at > 0) {
    return invocation.Fail(kVerb, Internal(path + ":" + std::to_string(replayed->differs_at) + ": the journal has " +
                                           Quote(replayed->expected) + ", " + replayed->scheduler + " decides " +
                                           Quote(replayed->decided)));
  }
  Printer(invocation.console) << "the same decisions: " << std::to_string(replayed->launches) << " launches in "
                              << std::to_string(replayed->decisions) << " decisions over "
                              << std::to_string(replayed->events) << " events under " << replayed->scheduler << "\n";
  return kDone;
}

// Returns a sentence about these jobs of a run: their number, `what` happened, and why.
Status StatusOf(const sim::SimResult& result, const std::vector<sim::StuckJob>& jobs, const std::string& before,
                const std::string& what) {
  constexpr std::size_t kTold = 3;
  std::string text = result.scheduler + before + std::to_string(jobs.size()) + " of " +
                     std::to_string(result.jobs.size()) + " jobs " + what;
  for (std::size_t i = 0; i < std::min(jobs.size(), kTold); ++i) {
    text += (i == 0 ? ": " : "; ") + std::string("job") + std::to_string(jobs[i].job) + " (" +
            Quote(result.jobs[jobs[i].job].name) + "): " + jobs[i].why;
  }
  if (jobs.size() > kTold) text += "; and so on";
  return Invalid(text);
}

// A result of two schedulers is not the one that was asked for.
Status ReliefOf(const sim::SimResult& result) {
  return Invalid(result.scheduler + ": its program was relieved after " + FormatDuration(result.relief->at) +
                 " of the simulation, and " + result.relief->successor +
                 " decided from then on: " + result.relief->why);
}

}  // namespace

int SimCommand(const Invocation& invocation, const Words& args) {
  Arguments arguments(kVerb, "WORKLOAD",
                      "Simulates a workload (a TOML file or a SWIM trace) under one or more schedulers, or checks a "
                      "journal of a run.");
  arguments.Offline();
  SimWords words;
  Declare(arguments, &words);
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const std::string& path = arguments.operands()[0];
  if (words.replay) return Replay(invocation, words, path);
  if (words.schedulers.schedulers.empty()) {
    return invocation.Fail(kVerb, Invalid("--scheduler is missing; see `millrace sim --help`"), kWrongUsage);
  }
  Result<Plan> plan = MakePlan(words, path, invocation.directory());
  if (!plan.ok()) return invocation.FailToStart(kVerb, plan.status());
  Result<JournalFile> journal = JournalFile::Open(words.journal);
  if (!journal.ok()) return invocation.FailToStart(kVerb, journal.status());
  const Result<std::vector<sim::SimResult>> results = RunPlan(words, *plan, *journal);
  if (!results.ok()) return invocation.Fail(kVerb, results.status());
  // The results are printed wherever that is possible, even if a disk has filled up meanwhile.
  Status written = journal->Write(words.journal);
  if (const Status kept = words.directory.empty() ? Status::Ok() : sim::WriteReports(words.directory, *results);
      written.ok())
    written = kept;
  Printer out(invocation.console);
  out << (words.json ? sim::ComparisonJson(*results) : FormatTable(sim::ComparisonTable(*results, words.wide)));
  if (const Status printed = out.Flush(); written.ok()) written = printed;
  if (!written.ok()) return invocation.Fail(kVerb, written);
  SayWarnings(invocation.console, words, *plan, *results);
  for (const std::string& missing : MissingPrograms(plan->file.live, path, invocation.directory()))
    console::SayLine(invocation.console, "warning: " + Printable(missing));
  int status = kDone;
  for (const sim::SimResult& result : *results) {
    if (result.relief) {
      status = invocation.Fail(kVerb, ReliefOf(result));
      console::SayLine(invocation.console, "The last that was said:");
      std::string_view rest = result.relief->transcript;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        console::SayLine(invocation.console, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    if (!result.given_up.empty())
      status = invocation.Fail(kVerb, StatusOf(result, result.given_up, ": ", "failed for lack of room"));
    if (result.stuck.empty()) continue;
    const Status stuck =
        StatusOf(result, result.stuck, " is stuck: nothing runs, and no event will come that lets a task run; ",
                 "have not ended");
    status = invocation.Fail(kVerb, stuck);
  }
  return status;
}

}  // namespace millrace::cli
