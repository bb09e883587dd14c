// SPDX-License-Identifier: Apache-2.0
#include "lab/command/compare_command.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/console/arguments.h"
#include "base/console/interrupt.h"
#include "base/console/json_output.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/version.h"
#include "client/cli/verbs.h"
#include "lab/beside/beside.h"
#include "lab/command/calibrate.h"
#include "lab/command/forms.h"
#include "lab/command/paper_command.h"
#include "lab/command/programs.h"
#include "lab/command/runs_progress.h"
#include "lab/command/scheduler_names.h"
#include "lab/command/sim_workload.h"
#include "lab/live/live_arena.h"
#include "lab/report/document.h"
#include "lab/report/findings_table.h"
#include "lab/run/make_runs.h"
#include "lab/run/sim_arena.h"
#include "lab/study/paper.h"

namespace millrace::compare {
namespace {

using cli::Invocation;
using cli::Words;
using cli::WorkloadSource;
using console::Arguments;
using console::kDone;
using console::kFailed;
using console::kUnreachable;
using console::kWrongUsage;
using console::Printer;

constexpr const char* kCompareVerb = "compare";
constexpr std::int64_t kMostRepeats = 1'000;
constexpr std::uint32_t kRepeatLive = 8, kRepeatSimulated = 30;
constexpr std::size_t kMostHeadlines = 3, kMostPapers = 1'000;
// With --until-width the runs are judged at these numbers of blocks, and a p value counts as much less as there are
// looks (Bonferroni).
constexpr std::uint32_t kLooks[] = {8, 12, 20};

struct CompareWords {
  cli::WorkloadWords workload;
  cli::SchedulerWords schedulers;
  cli::ProgramWords programs;
  std::string directory, calibrate, on = "sim", metric = "turnaround,makespan,wait", practical, width;
  std::string write, check;  // pages
  std::int64_t repeat = 0;
  bool once_each = false, slowdowns = false, force = false, json = false, wide = false, columns = false;
  bool simulate = false, busy = false;
};

void Declare(Arguments& arguments, CompareWords* words) {
  cli::DeclareSchedulers(arguments, &words->schedulers,
                         "; the first is the baseline that the others are compared with");
  cli::DeclarePrograms(arguments, &words->programs);
  arguments.Text("-o,--output", &words->directory, "directory for the report and the runs; a comparison goes on in it");
  arguments.Integer("--repeat", &words->repeat, 2, kMostRepeats,
                    "runs of each scheduler (default: 30 simulated; live 8, or more for many schedulers); for a "
                    "paper's file: its seeds");
  arguments.Text("--on", &words->on, "where the runs take place: sim, local, cluster or testbed (default: sim)");
  arguments.Text(
      "--metric", &words->metric,
      "at most three metrics that decide, separated by commas, of all jobs or of a class, pool or user as in "
      "turnaround/alert (default: turnaround,makespan,wait)");
  arguments.Text("--practical", &words->practical, "differences up to this size do not matter (default: 3%)");
  arguments.Text("--until-width", &words->width,
                 "instead of --repeat: run 8, 12 or 20 times, until the ratios are known to this share");
  arguments.Flag("--no-same-against-same", &words->once_each, "do not run the baseline a second time in each block");
  arguments.Flag("--slowdown", &words->slowdowns, "also run each job alone and compare slowdowns");
  arguments.Flag("--simulate", &words->simulate,
                 "simulate each live run as well, with the measured costs of the cluster, and say how far off that is");
  arguments.Text("--calibrate", &words->calibrate,
                 "instead of comparing: run one job of each class that has a program, alone, and write the workload "
                 "file here with the measured times of its tasks");
  arguments.Text("--write", &words->write,
                 "for a paper's file: put its tables into this page instead of printing them");
  arguments.Text("--check", &words->check, "for a paper's file: fail if this page has other tables");
  arguments.Flag("--busy", &words->busy, "go on though other work disturbs one live run after another");
  arguments.Flag("--force", &words->force, "discard the runs of another comparison in the directory");
  arguments.Flag("--json", &words->json, "print the result as JSON");
  arguments.Flag("--wide", &words->wide, "print all metrics and columns, even if they do not fit into 80 columns");
  arguments.Flag("--columns", &words->columns, "explain each metric, and do nothing else");
  cli::DeclareWorkload(arguments, &words->workload);
}

// Returns a share that is written as "3%" or 0.03.
Result<double> ParseShare(const std::string& option, const std::string& text) {
  constexpr double kPercent = 100;
  char* end = nullptr;
  double share = std::strtod(text.c_str(), &end);
  const bool percent = std::string_view(end) == "%";
  if (percent) share /= kPercent;
  if (text.empty() || end == text.c_str() || (*end != '\0' && !percent) || !(share > 0) || !(share < 1))
    return Invalid(option + " " + Quote(text) + " is not a share such as 3% or 0.03");
  return share;
}

Result<Words> ParseHeadline(const std::string& text) {
  const Words keys = cli::SplitAtCommas(text);
  const Words known = MetricKeys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::find(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i), keys[i]) !=
        keys.begin() + static_cast<std::ptrdiff_t>(i))
      return Invalid("--metric names " + keys[i] + " twice");
    if (FindMetric(keys[i]) != nullptr) continue;
    const std::string_view of_all = std::string_view(keys[i]).substr(0, keys[i].find('/'));
    const Metric* const whole = FindMetric(of_all);
    if (whole != nullptr && whole->of_jobs)
      return Invalid("--metric " + Quote(keys[i]) + " names no class, pool or user behind the \"/\"");
    if (whole != nullptr)
      return Invalid("--metric " + Quote(keys[i]) + ": " + std::string(of_all) +
                     " is a figure of the cluster, not of jobs, so there is none of a class, a pool or a user");
    const std::optional<std::string> near = Nearest(keys[i], known);
    return Invalid("no metric " + Quote(keys[i]) + (near ? "; did you mean " + *near + "?" : "") +
                   "; --columns lists them");
  }
  if (keys.size() > kMostHeadlines) {
    return Invalid("--metric takes at most " + std::to_string(kMostHeadlines) +
                   " metrics: the more decide, the less each can show; the others are reported, too");
  }
  return keys;
}

// The decisions that precede the first run.
struct Prepared {
  Subject subject;
  Design design;
  std::optional<double> width;
  std::unique_ptr<Arena> arena;
  DrawSimulation draw;
  outside::Launch launch;
  Conditions conditions;
};

// Returns kInvalid if a metric is of a group that the workload does not have.
Status CheckGroups(const std::vector<std::string>& headline, const sim::Workload& workload) {
  for (const std::string& key : headline) {
    const std::string_view group = GroupOf(key);
    if (group.empty() || AnyInGroup(workload, group)) continue;
    std::set<std::string> names;
    for (const sim::SimJob& job : workload.jobs) names.insert({job.group, job.pool, job.user});
    names.erase("");
    const std::optional<std::string> near = Nearest(std::string(group), {names.begin(), names.end()});
    return Invalid("--metric " + Quote(key) + ": no job is of a class, pool or user of this name" +
                   (near ? "; did you mean " + *near + "?" : ""));
  }
  return Status::Ok();
}

Result<std::unique_ptr<Arena>> MakeArena(const Invocation& invocation, const CompareWords& words,
                                         const std::string& path, const Prepared& prepared,
                                         const sim::SimulationFile& file) {
  if (words.on != "sim") {
    MILLRACE_ASSIGN(const sim::Overrides overrides, cli::OverridesOf(words.workload));
    return MakeLiveArena({.kind = words.on, .invocation = invocation, .workload = path, .overrides = overrides});
  }
  MILLRACE_TRY(file.CheckSimulable());
  for (const std::string& missing : cli::MissingPrograms(file.live, path, invocation.directory()))
    console::SayLine(invocation.console, "warning: " + Printable(missing));
  SimExtras extras = ExtrasFor(prepared.subject.headline);
  extras.slowdowns = words.slowdowns;
  MILLRACE_ASSIGN(SimArena arena, SimArena::Make(prepared.draw, file.seed, extras, prepared.launch));
  return std::unique_ptr<Arena>(std::make_unique<SimArena>(std::move(arena)));
}

// Returns the variants whose scheduler file is not the one for all.
std::vector<sched::Variant> OwnSettings(const Subject& subject) {
  std::vector<sched::Variant> own;
  for (const sched::Variant& variant : subject.schedulers) {
    if (variant.settings_text != subject.settings_text) own.push_back(variant);
  }
  return own;
}

Status CheckNoOwnSettings(const Subject& subject) {
  const std::vector<sched::Variant> own = OwnSettings(subject);
  if (own.empty()) return Status::Ok();
  return Invalid(own.front().label +
                 " has settings of its own, but on an existing cluster the scheduler file of its master is in force; "
                 "compare with --on local or --on sim");
}

// Runs name nodes by their rows.
std::string ListOf(const std::vector<NodeRow>& nodes) {
  std::string list;
  for (const NodeRow& node : nodes) {
    list += (list.empty() ? "" : ", ") + node.name + " in " + node.datacenter + node.rack + " with " +
            std::to_string(node.map_slots) + "+" + std::to_string(node.reduce_slots) + " slots";
  }
  return list;
}

Conditions ConditionsOf(const CompareWords& words, const WorkloadSource& source, const sim::SimulationFile& file,
                        const Subject& subject, const Design& design) {
  std::string schedulers;
  for (const sched::Variant& variant : subject.schedulers) {
    schedulers += schedulers.empty() ? "" : ",";
    schedulers += (variant.label == variant.scheduler ? "" : variant.label + "=") + variant.scheduler;
  }
  Conditions conditions{{"the version", kVersion},
                        {"--on", subject.where},
                        {"--scheduler", schedulers},
                        {"the seed", std::to_string(design.seed)},
                        {"--no-same-against-same", design.same_against_same ? "no" : "yes"},
                        {"--slowdown", words.slowdowns ? "yes" : "no"},
                        {"the scheduler file", subject.settings_text}};
  if (ExtrasFor(subject.headline).foretelling) conditions.emplace_back("--metric foretold", "yes");
  if (subject.where == "cluster" || subject.where == "testbed")
    conditions.emplace_back("the list of nodes", ListOf(subject.nodes));
  for (const sched::Variant& variant : OwnSettings(subject))
    conditions.emplace_back("the scheduler file of " + variant.label, variant.settings_text);
  for (auto& condition : source.Conditions(file)) conditions.push_back(std::move(condition));
  return conditions;
}

// Reads what is compared and by which measure.
Status ReadQuestion(const CompareWords& words, Prepared* prepared) {
  Subject& subject = prepared->subject;
  MILLRACE_ASSIGN(cli::Schedulers schedulers, cli::ReadSchedulers(words.schedulers, prepared->launch));
  subject.schedulers = std::move(schedulers.variants);
  subject.settings_text = std::move(schedulers.settings_text);
  if (subject.schedulers.size() == 1 && words.once_each)
    return Invalid("--scheduler names one scheduler only, so there is nothing to compare it with");
  MILLRACE_ASSIGN(subject.headline, ParseHeadline(words.metric));
  if (words.on != "sim" && words.on != "local" && words.on != "cluster" && words.on != "testbed")
    return Invalid("--on " + Quote(words.on) + " is not one of sim, local, cluster and testbed");
  if (words.on != "sim") MILLRACE_TRY(cli::CheckNoPrograms(subject.schedulers, "leave --on out"));
  if (words.on == "cluster" || words.on == "testbed") MILLRACE_TRY(CheckNoOwnSettings(subject));
  if (words.simulate && words.on == "sim")
    return Invalid("--simulate needs live runs to simulate; give --on local, cluster or testbed");
  const SimExtras extras = ExtrasFor(subject.headline);
  if (extras.slowdowns && !words.slowdowns && words.on == "sim")
    return Invalid("--metric slowdown and bounded_slowdown need --slowdown, which also runs each job alone");
  if (extras.foretelling && words.on != "sim")
    return Invalid("--metric foretold is for simulations: journals of live runs do not keep what was foretold");
  if (!words.practical.empty()) {
    MILLRACE_ASSIGN(subject.options.practical, ParseShare("--practical", words.practical));
  }
  if (words.width.empty()) return Status::Ok();
  if (words.repeat > 0) return Invalid("--until-width says when to stop, so --repeat must not");
  MILLRACE_ASSIGN(prepared->width, ParseShare("--until-width", words.width));
  subject.options.significance /= static_cast<double>(std::size(kLooks));
  return Status::Ok();
}

std::uint32_t BlocksFor(const CompareWords& words, const Subject& subject, const Design& design) {
  if (words.repeat > 0) return static_cast<std::uint32_t>(words.repeat);
  if (subject.where == "sim") return kRepeatSimulated;
  if (design.schedulers < 2) return kRepeatLive;
  return std::max(kRepeatLive, sim::FewestRuns(design.schedulers, subject.options.significance));
}

// Everything that can be wrong about the command is found here.
Result<Prepared> Prepare(const Invocation& invocation, const CompareWords& words, const std::string& path,
                         const Words& args) {
  Prepared prepared;
  MILLRACE_ASSIGN(prepared.launch, cli::LaunchOf(words.programs, invocation.directory()));
  MILLRACE_TRY(ReadQuestion(words, &prepared));
  MILLRACE_ASSIGN(const WorkloadSource source, WorkloadSource::Read(words.workload, path));
  MILLRACE_ASSIGN(const sim::SimulationFile file, source.Draw(std::nullopt));
  MILLRACE_TRY(CheckGroups(prepared.subject.headline, file.workload));
  Subject& subject = prepared.subject;
  prepared.draw = [source](std::uint64_t seed) { return source.Draw(seed); };
  MILLRACE_ASSIGN(prepared.arena, MakeArena(invocation, words, path, prepared, file));
  subject.where = prepared.arena->Kind();
  subject.nodes = prepared.arena->Nodes();
  subject.workload_name = file.workload.name;
  subject.workload_text = source.text();
  FillSubject(kCompareVerb, args, &subject);
  Design& design = prepared.design;
  design.schedulers = static_cast<std::uint32_t>(subject.schedulers.size());
  design.seed = file.seed;
  design.same_against_same = !words.once_each;
  design.blocks = BlocksFor(words, subject, design);
  prepared.conditions = ConditionsOf(words, source, file, subject, design);
  return prepared;
}

Material MaterialOf(const Prepared& prepared, const RunStore& store) {
  Material material{&prepared.subject, prepared.design, store.Counting(prepared.design.blocks), {}};
  material.judged = Judge(material.design, material.counting, prepared.subject.headline, prepared.subject.options);
  return material;
}

// Makes the runs; with --until-width as many as it takes.
Result<Making> MakeAllRuns(Prepared* prepared, RunStore& store, RunsProgress& progress, bool busy_is_fine) {
  // A live arena sees to signals itself.
  const auto interrupt = prepared->subject.where == "sim" ? std::make_unique<console::Interrupt>() : nullptr;
  RunsWatch watch;
  watch.stop = [&] { return (interrupt != nullptr && interrupt->Seen()) || (progress.TooBusy() && !busy_is_fine); };
  watch.begun = [&](const PlannedRun& run, bool warm_up) { progress.Begun(run, warm_up); };
  watch.ended = [&](const RunRecord& record) { progress.Ended(record); };
  const auto make = [&] {
    progress.Start(prepared->design, store);
    return MakeRuns(*prepared->arena, prepared->design, prepared->subject.schedulers, store, watch);
  };
  if (!prepared->width) return make();
  for (const std::uint32_t look : kLooks) {
    prepared->design.blocks = look;
    MILLRACE_ASSIGN(const Making made, make());
    if (made == Making::kStopped) return made;
    if (NarrowEnough(MaterialOf(*prepared, store).judged, prepared->design, *prepared->width)) break;
  }
  return Making::kComplete;
}

std::string TextForPeople(const CompareWords& words, const Material& material, const std::optional<Beside>& beside) {
  const std::vector<std::string> schedulers = LabelsOf(material.subject->schedulers);
  std::string text = cli::FormatTable(FindingsTable(material, words.wide)) + "\n";
  for (const std::string& line : WinnerLines(material)) text += Printable(line) + "\n";
  if (beside) {
    text += "\n" + cli::FormatTable(BesideTable(*beside, *material.subject, words.wide)) + "\n";
    for (const std::string& line : BesideLines(*beside, schedulers, material.design)) text += Printable(line) + "\n";
  }
  text += Counted(material.design.blocks, "run") + " of each scheduler; ratios are to " +
          schedulers[material.design.baseline] + "; the report is " + words.directory +
          "/report.html, with tables and figures beside it\n";
  return text;
}

// Writes and prints the results of the runs.
Status Tell(const Invocation& invocation, const CompareWords& words, Prepared& prepared, const RunStore& store) {
  Material material = MaterialOf(prepared, store);
  MILLRACE_TRY(AddDetails(*prepared.arena, &material));
  std::optional<Beside> beside;
  if (words.simulate) {
    MILLRACE_ASSIGN(beside, SimulateBeside(material, prepared.draw));
    material.simulated = BesideJson(*beside);
    material.warnings = BesideWarnings(*beside, LabelsOf(material.subject->schedulers), material.design);
  }
  MILLRACE_TRY(WriteAllForms(words.directory, material, beside));
  Printer out(invocation.console);
  out << (words.json ? console::Dump(FindingsOf(material)) + "\n" : TextForPeople(words, material, beside));
  MILLRACE_TRY(out.Flush());
  for (const std::string& warning : WarningsOf(material))
    console::SayLine(invocation.console, "warning: " + Printable(warning));
  return Status::Ok();
}

int Compare(const Invocation& invocation, const CompareWords& words, Prepared& prepared) {
  Result<RunStore> store =
      RunStore::Open(words.directory, prepared.conditions, prepared.design, prepared.subject.nodes.size(), words.force);
  if (!store.ok()) return invocation.FailToStart(kCompareVerb, store.status());
  if (const Status removed = RemoveOldForms(words.directory, *store); !removed.ok())
    return invocation.FailToStart(kCompareVerb, removed);
  RunsProgress progress(invocation.console, LabelsOf(prepared.subject.schedulers), SteadyMicros);
  const Result<Making> made = MakeAllRuns(&prepared, *store, progress, words.busy);
  progress.Clear();
  if (!made.ok()) {
    const bool gone = made.status().code() == StatusCode::kUnavailable;
    return invocation.Fail(kCompareVerb, made.status(), gone ? kUnreachable : kFailed);
  }
  if (*made == Making::kStopped && progress.TooBusy() && !words.busy) {
    return invocation.Fail(
        kCompareVerb,
        Invalid(
            "this machine is too busy to compare schedulers on it: " + std::to_string(RunsProgress::kMostDisturbed) +
            " runs in a row were disturbed, the last because " + progress.disturbance() +
            "; the same command goes on from here another time, --on sim needs no quiet machine, and --busy "
            "goes on in spite of that"));
  }
  if (*made == Making::kStopped) {
    console::SayLine(invocation.console, "stopped with " + Counted(RunsLeft(prepared.design, *store), "run") +
                                             " left; the same command goes on from here");
    return 128 + SIGINT;
  }
  const Status told = Tell(invocation, words, prepared, *store);
  return told.ok() ? kDone : invocation.Fail(kCompareVerb, told);
}

// Reads what is needed for it, and calibrates.
Result<std::string> CalibrateInstead(const Invocation& invocation, const CompareWords& words, const std::string& path) {
  MILLRACE_ASSIGN(const WorkloadSource source, WorkloadSource::Read(words.workload, path));
  MILLRACE_ASSIGN(const sim::Overrides overrides, cli::OverridesOf(words.workload));
  MILLRACE_ASSIGN(const sim::SimulationFile file, source.Draw(std::nullopt));
  Calibration calibration;
  calibration.live.kind = words.on == "sim" ? "local" : words.on;
  calibration.live.invocation = invocation, calibration.live.workload = path, calibration.live.overrides = overrides;
  calibration.draw = [source](std::uint64_t seed) { return source.Draw(seed); };
  calibration.seed = file.seed, calibration.text = source.text(), calibration.target = words.calibrate;
  return Calibrate(std::move(calibration));
}

// A paper's file names its own schedulers; with --scheduler it is a workload file like any other.
Result<bool> NamesPaper(const Words& paths) {
  bool names = false;
  for (const std::string& path : paths) {
    MILLRACE_ASSIGN(const std::string text, sim::ReadSimulation(path));
    MILLRACE_ASSIGN(const bool is_paper, sim::experiments::IsPaper(text, path));
    names = names || is_paper;
  }
  return names;
}

// Returns kInvalid for --write or --check without a paper's file.
Status CheckNoPage(Arguments& arguments, bool own) {
  for (const char* option : {"--write", "--check"}) {
    if (arguments.options().count(option) == 0) continue;
    return Invalid(
        std::string(option) + " is for a paper's file" +
        (own ? ", without --scheduler and --calibrate" : "; " + Quote(arguments.operands()[0]) + " has no [paper]"));
  }
  return Status::Ok();
}

// Returns kInvalid for the first option that a paper's file sets itself.
Status CheckPaperOptions(const CLI::App& app) {
  constexpr std::string_view kTaken[] = {"--output", "--repeat", "--write", "--check", "--json", "--seed", "--help"};
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    const bool taken =
        std::any_of(std::begin(kTaken), std::end(kTaken), [&](std::string_view one) { return one == "--" + name; });
    if (!taken) return Invalid("--" + name + " is not for a paper's file, which says itself what is run and shown");
  }
  return Status::Ok();
}

int ComparePaper(const Invocation& invocation, const CompareWords& words, Arguments& arguments) {
  for (const auto& [option, page] : {std::pair("--write", &words.write), std::pair("--check", &words.check)}) {
    if (arguments.options().count(option) > 0 && page->empty())
      return invocation.FailToStart(kCompareVerb, Invalid(std::string(option) + " names no page"));
  }
  if (const Status fit = CheckPaperOptions(arguments.options()); !fit.ok())
    return invocation.FailToStart(kCompareVerb, fit);
  return RunPaperFiles(invocation, {.paths = arguments.operands(),
                                    .directory = words.directory,
                                    .write = words.write,
                                    .check = words.check,
                                    .seeds = words.repeat,
                                    .seed = words.workload.seed,
                                    .json = words.json});
}

}  // namespace

int CompareCommand(const Invocation& invocation, const Words& args) {
  Arguments arguments(kCompareVerb, "WORKLOAD",
                      "Runs a workload several times under each scheduler and says which one serves it, and how sure "
                      "that is.");
  CompareWords words;
  Declare(arguments, &words);
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, kMostPapers)) return *status;
  if (words.columns) {
    Printer(invocation.console) << cli::FormatTable(MetricsTable());
    return kDone;
  }
  const auto missing = [&](const std::string& what) {
    return invocation.Fail(kCompareVerb, Invalid(what + " is missing; see `millrace compare --help`"), kWrongUsage);
  };
  if (arguments.operands().empty()) return missing("WORKLOAD");
  const bool own = !words.schedulers.schedulers.empty() || !words.calibrate.empty();
  if (!own) {
    const Result<bool> paper = NamesPaper(arguments.operands());
    if (!paper.ok()) return invocation.FailToStart(kCompareVerb, paper.status());
    if (*paper) return ComparePaper(invocation, words, arguments);
  }
  if (arguments.operands().size() > 1) {
    return invocation.Fail(kCompareVerb,
                           Invalid("one WORKLOAD is compared at a time, and " + Quote(arguments.operands()[1]) +
                                   " is a second one; only papers' files may be several"),
                           kWrongUsage);
  }
  if (const Status fit = CheckNoPage(arguments, own); !fit.ok()) return invocation.FailToStart(kCompareVerb, fit);
  if (!words.calibrate.empty()) {
    const Result<std::string> told = CalibrateInstead(invocation, words, arguments.operands()[0]);
    if (!told.ok()) return invocation.FailToStart(kCompareVerb, told.status());
    Printer(invocation.console) << *told;
    return kDone;
  }
  if (words.schedulers.schedulers.empty()) return missing("--scheduler");
  if (words.directory.empty()) return missing("-o DIR");
  Result<Prepared> prepared = Prepare(invocation, words, arguments.operands()[0], args);
  if (!prepared.ok()) return invocation.FailToStart(kCompareVerb, prepared.status());
  return Compare(invocation, words, *prepared);
}

}  // namespace millrace::compare
