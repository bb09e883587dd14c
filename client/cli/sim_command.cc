#include "client/cli/sim_command.h"

#include <algorithm>
#include <optional>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/verbs.h"
#include "schedulers/config/settings_file.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/sim/metrics/report.h"
#include "schedulers/sim/model/simulate.h"
#include "schedulers/sim/replay.h"
#include "schedulers/sim/simulation_file.h"
#include "schedulers/sim/workload/swim.h"

namespace millrace::cli {
namespace {

using console::Arguments;
using console::Printer;

constexpr const char* kVerb = "sim";
constexpr std::uint64_t kTasksByDefault = 2'000'000;  // tables with more rows are written only on request
constexpr double kTopScale = 1e6;
constexpr std::int64_t kMostUsers = 1'000'000;
constexpr double kTopUserSkew = 10;

// These are the words of the command line. 0 and empty mean that an option was not given.
struct SimWords {
  std::string scheduler, slots, settings, block_size, directory, cluster, bytes_per_reduce, journal;
  std::string map_rate, reduce_rate, stop_at;
  std::int64_t nodes = 0, racks = 0, datacenters = 0, replication = 0, users = 0, seed = -1;
  double scale = 1, user_skew = 1;
  bool slowdowns = false, tasks = false, no_tasks = false, replay = false, json = false;
};

struct Plan {
  sim::SimulationFile file;
  std::vector<std::string> schedulers;
  sched::Settings settings;
  sim::SimOptions options;
};

void Declare(Arguments& arguments, SimWords* words) {
  arguments.Text("--scheduler", &words->scheduler, "schedulers to compare, separated by commas");
  arguments.Text("-o,--output", &words->directory, "directory for reports in JSON and CSV (default: only the table)");
  arguments.Text("--cluster", &words->cluster, "file whose [cluster] is used in place of the workload's own");
  arguments.Integer("--nodes", &words->nodes, 1, 100'000, "nodes of the cluster");
  arguments.Integer("--racks", &words->racks, 1, 100'000, "racks of the cluster");
  arguments.Integer("--datacenters", &words->datacenters, 1, 100'000, "datacenters of the cluster");
  arguments.Text("--slots", &words->slots, "map and reduce slots of each node, as M,R");
  arguments.Text("--settings", &words->settings, "scheduler file, like the master's");
  arguments.Integer("--seed", &words->seed, 0, 1'000'000'000'000'000, "seed of all random choices");
  arguments.Text("--block-size", &words->block_size, "bytes of a block, if the workload derives maps from it");
  arguments.Integer("--replication", &words->replication, 1, 1000, "replicas of a block");
  arguments.Text("--stop-at", &words->stop_at, "end the simulation at this time");
  arguments.options()
      .add_option("--scale", words->scale, "for a trace: the factor for all its sizes")
      ->check(CLI::Range(1 / kTopScale, kTopScale));
  arguments.Text("--bytes-per-reduce", &words->bytes_per_reduce,
                 "for a trace: the bytes for which there is one reduce");
  arguments.Text("--map-rate", &words->map_rate, "for a trace: the bytes that a map computes in a second");
  arguments.Text("--reduce-rate", &words->reduce_rate, "for a trace: the bytes that a reduce computes in a second");
  arguments.Integer("--users", &words->users, 1, kMostUsers,
                    "for a trace: the users over whom its jobs are spread (default: all jobs have one user)");
  arguments.options()
      .add_option("--user-skew", words->user_skew,
                  "with --users: the exponent of Zipf's law, by which few users submit most jobs; 0: all as many")
      ->check(CLI::Range(0.0, kTopUserSkew));
  arguments.Flag("--slowdown", &words->slowdowns, "also run each job alone and report slowdowns");
  arguments.Flag("--tasks", &words->tasks, "write a row for each attempt, however many there are");
  arguments.Flag("--no-tasks", &words->no_tasks, "write no rows for attempts");
  arguments.Text("--journal", &words->journal, "write the events of the run to this file; for a single scheduler");
  arguments.Flag("--replay", &words->replay, "take WORKLOAD as a journal, and check that its decisions are made again");
  arguments.Flag("--json", &words->json, "print the comparison as one JSON array");
}

Words Split(const std::string& text) {
  Words words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Result<sched::Slots> ParseSlots(const std::string& text) {
  const Words words = Split(text);
  std::vector<std::uint32_t> counts;
  for (const std::string& word : words) {
    const bool digits = !word.empty() && word.size() < 6 && word.find_first_not_of("0123456789") == std::string::npos;
    if (digits) counts.push_back(static_cast<std::uint32_t>(std::stoul(word)));
  }
  if (words.size() != 2 || counts.size() != 2) return Invalid("--slots " + Quote(text) + " is not M,R, such as 4,2");
  return sched::Slots{counts[0], counts[1]};
}

Result<sim::Overrides> OverridesOf(const SimWords& words) {
  sim::Overrides overrides;
  const auto take = [](std::int64_t said, std::optional<std::uint32_t>* field) {
    if (said > 0) *field = static_cast<std::uint32_t>(said);
  };
  take(words.nodes, &overrides.nodes), take(words.racks, &overrides.racks);
  take(words.datacenters, &overrides.datacenters), take(words.replication, &overrides.replication);
  if (words.seed >= 0) overrides.seed = static_cast<std::uint64_t>(words.seed);
  if (!words.slots.empty()) {
    MILLRACE_ASSIGN(overrides.slots, ParseSlots(words.slots));
  }
  if (!words.block_size.empty()) {
    MILLRACE_ASSIGN(overrides.block_size, ParseBytes(words.block_size));
    if (*overrides.block_size == 0) return Invalid("--block-size is 0");
  }
  return overrides;
}

Status ParseBytesOption(const std::string& option, const std::string& text, double* field) {
  if (text.empty()) return Status::Ok();
  const Result<std::uint64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return bytes.status().Within(option);
  if (*bytes == 0) return Invalid(option + " is 0");
  *field = static_cast<double>(*bytes);
  return Status::Ok();
}

Result<sim::SimulationFile> LoadTrace(const SimWords& words, const std::string& path, const std::string& text,
                                      const sim::Overrides& overrides) {
  sim::SimulationFile file;
  file.cluster = sim::DefaultCluster(overrides);
  if (!words.cluster.empty()) {
    MILLRACE_ASSIGN(file, sim::LoadSimulation(words.cluster, overrides));
  }
  sim::SwimOptions options;
  options.block_size = overrides.block_size.value_or(options.block_size);
  options.scale = words.scale;
  options.nodes = static_cast<std::uint32_t>(file.cluster.nodes.size());
  double bytes_per_reduce = static_cast<double>(options.bytes_per_reduce);
  MILLRACE_TRY(ParseBytesOption("--bytes-per-reduce", words.bytes_per_reduce, &bytes_per_reduce));
  MILLRACE_TRY(ParseBytesOption("--map-rate", words.map_rate, &options.map_rate));
  MILLRACE_TRY(ParseBytesOption("--reduce-rate", words.reduce_rate, &options.reduce_rate));
  options.bytes_per_reduce = static_cast<std::uint64_t>(bytes_per_reduce);
  file.seed = overrides.seed.value_or(file.seed);
  options.users = static_cast<std::uint32_t>(words.users);
  options.user_skew = words.user_skew;
  options.seed = file.seed;
  MILLRACE_ASSIGN(sim::Workload workload, sim::ParseSwim(text, path, options));
  workload.placement = file.workload.placement;
  workload.placement.replication = overrides.replication.value_or(workload.placement.replication);
  file.workload = std::move(workload);
  return file;
}

Result<sim::SimulationFile> LoadWorkload(const SimWords& words, const std::string& path) {
  MILLRACE_ASSIGN(const sim::Overrides overrides, OverridesOf(words));
  if (!path.ends_with(".toml")) {
    MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
    if (sim::LooksLikeJournal(text)) return Invalid(path + " is a journal; --replay checks its decisions");
    return LoadTrace(words, path, text, overrides);
  }
  MILLRACE_ASSIGN(sim::SimulationFile file, sim::LoadSimulation(path, overrides));
  MILLRACE_TRY(file.CheckSimulable());
  if (!words.cluster.empty()) {
    MILLRACE_ASSIGN(sim::SimulationFile other, sim::LoadSimulation(words.cluster, overrides));
    file.cluster = std::move(other.cluster);
  }
  return file;
}

std::uint64_t TasksOf(const sim::Workload& workload) {
  std::uint64_t tasks = 0;
  for (const sim::SimJob& job : workload.jobs) tasks += job.maps.size() + job.reduces.size();
  return tasks;
}

Result<Plan> MakePlan(const SimWords& words, const std::string& path) {
  Plan plan;
  plan.schedulers = Split(words.scheduler);
  if (!words.settings.empty()) {
    MILLRACE_ASSIGN(plan.settings, sched::LoadSettings(words.settings));
  }
  for (const std::string& scheduler : plan.schedulers) {
    std::string why;
    if (sched::MakePolicy(scheduler, plan.settings, &why) == nullptr) return Invalid(why);
  }
  if (!words.journal.empty() && plan.schedulers.size() > 1)
    return Invalid("--journal takes the run of one scheduler only");
  MILLRACE_ASSIGN(plan.file, LoadWorkload(words, path));
  plan.options.seed = plan.file.seed;
  plan.options.stop_at = plan.file.stop_at;
  if (!words.stop_at.empty()) {
    MILLRACE_ASSIGN(plan.options.stop_at, ParseDuration(words.stop_at));
  }
  const bool few = TasksOf(plan.file.workload) <= kTasksByDefault;
  plan.options.task_rows = !words.directory.empty() && !words.no_tasks && (words.tasks || few);
  return plan;
}

Result<std::vector<sim::SimResult>> RunPlan(const SimWords& words, Plan& plan) {
  if (words.slowdowns) {
    MILLRACE_ASSIGN(plan.options.alone, sim::AloneTimes(plan.file.cluster, plan.file.workload, plan.options));
  }
  std::string journal;
  if (!words.journal.empty()) {
    plan.options.journal = [&journal](std::string_view line) { (journal += line) += '\n'; };
  }
  std::vector<sim::SimResult> results;
  for (const std::string& scheduler : plan.schedulers) {
    MILLRACE_ASSIGN(sim::SimResult result,
                    sim::Simulate(plan.file.cluster, plan.file.workload, scheduler, plan.settings, plan.options));
    results.push_back(std::move(result));
  }
  if (!words.journal.empty()) MILLRACE_TRY(WriteFileDurably(words.journal, journal));
  if (!words.directory.empty()) MILLRACE_TRY(sim::WriteReports(words.directory, results));
  return results;
}

int Replay(const Invocation& invocation, const SimWords& words, const std::string& path) {
  sched::Settings settings;
  if (!words.settings.empty()) {
    Result<sched::Settings> loaded = sched::LoadSettings(words.settings);
    if (!loaded.ok()) return invocation.Fail(kVerb, loaded.status());
    settings = std::move(*loaded);
  }
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return invocation.Fail(kVerb, text.status());
  const Result<sim::ReplayResult> replayed = sim::ReplayJournal(*text, path, words.scheduler, settings);
  if (!replayed.ok()) return invocation.Fail(kVerb, replayed.status());
  if (replayed->differs_at > 0) {
    return invocation.Fail(kVerb, Internal(path + ":" + std::to_string(replayed->differs_at) + ": the journal has " +
                                           Quote(replayed->expected) + ", " + replayed->scheduler + " decides " +
                                           Quote(replayed->decided)));
  }
  Printer(invocation.console.out) << "the same decisions: " << std::to_string(replayed->launches) << " launches in "
                                  << std::to_string(replayed->decisions) << " decisions over "
                                  << std::to_string(replayed->events) << " events under " << replayed->scheduler
                                  << "\n";
  return kDone;
}

// Returns what to tell of a run that got stuck: which jobs, and why.
Status StuckStatus(const sim::SimResult& result) {
  constexpr std::size_t kTold = 3;
  std::string text = result.scheduler + " is stuck: nothing runs, and nothing will come that lets a task run; " +
                     std::to_string(result.stuck.size()) + " of " + std::to_string(result.jobs.size()) +
                     " jobs have not ended";
  for (std::size_t i = 0; i < std::min(result.stuck.size(), kTold); ++i) {
    const sim::StuckJob& stuck = result.stuck[i];
    text += (i == 0 ? ": " : "; ") + std::string("job") + std::to_string(stuck.job) + " (" +
            Quote(result.jobs[stuck.job].name) + "): " + stuck.why;
  }
  if (result.stuck.size() > kTold) text += "; and so on";
  return Invalid(text);
}

}  // namespace

int SimCommand(const Invocation& invocation, const Words& args) {
  Arguments arguments(kVerb, "WORKLOAD",
                      "Simulates a workload (a TOML file or a SWIM trace) under one or more schedulers, or checks a "
                      "journal of a run.");
  SimWords words;
  Declare(arguments, &words);
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const std::string& path = arguments.operands()[0];
  if (words.replay) return Replay(invocation, words, path);
  if (words.scheduler.empty()) {
    return invocation.Fail(kVerb, Invalid("--scheduler is missing; see `millrace sim --help`"), kWrongUsage);
  }
  Result<Plan> plan = MakePlan(words, path);
  if (!plan.ok()) {
    const bool wrong = plan.status().code() == StatusCode::kInvalid;
    return invocation.Fail(kVerb, plan.status(), wrong ? kWrongUsage : kFailed);
  }
  const Result<std::vector<sim::SimResult>> results = RunPlan(words, *plan);
  if (!results.ok()) return invocation.Fail(kVerb, results.status());
  Printer out(invocation.console.out);
  out << (words.json ? sim::ComparisonJson(*results) : FormatTable(sim::ComparisonTable(*results)));
  const Status written = out.Flush();
  if (!written.ok()) return invocation.Fail(kVerb, written);
  int status = kDone;
  for (const sim::SimResult& result : *results) {
    if (!result.stuck.empty()) status = invocation.Fail(kVerb, StuckStatus(result));
  }
  return status;
}

}  // namespace millrace::cli
