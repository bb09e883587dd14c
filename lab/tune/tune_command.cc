// SPDX-License-Identifier: Apache-2.0
#include "lab/tune/tune_command.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/console/arguments.h"
#include "base/console/interrupt.h"
#include "base/console/json_output.h"
#include "base/console/progress.h"
#include "base/file.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "lab/advise/candidates.h"
#include "lab/advise/goal.h"
#include "lab/advise/history_runs.h"
#include "lab/advise/history_words.h"
#include "lab/command/forms.h"
#include "lab/live/live_arena.h"
#include "lab/run/foretelling.h"
#include "lab/run/on_threads.h"
#include "lab/tune/apply.h"
#include "lab/tune/tuning_text.h"

namespace millrace::tune {
namespace {

using cli::Invocation;
using cli::Words;
using compare::Material;
using console::Arguments;
using console::kDone;
using console::Printer;

constexpr const char* kVerb = "tune";
constexpr std::size_t kMostGoals = 3, kMostFinalists = 5;
constexpr std::uint32_t kLiveRuns = 8;
// The draws of a search are seeded apart from those of the judgement, whose seeds follow that of the history.
constexpr std::uint64_t kSearchSeeds = 0x74756e65;

struct TuneWords {
  compare::HistoryWords history;
  cli::SchedulerWords schedulers;
  std::string goals, directory, check, undo;
  std::vector<std::string> knobs;
  std::int64_t tries = 64, repeat = 20;
  bool apply = false, json = false, force = false;
};

void Declare(Arguments& arguments, TuneWords* words) {
  compare::DeclareHistory(arguments, &words->history);
  arguments.Text(
      "--goal", &words->goals,
      "at most three of turnaround, makespan, tail, prediction, fairness, deadlines and traffic, separated by "
      "commas, the most important first (default: turnaround,prediction)");
  cli::DeclareSchedulers(arguments, &words->schedulers, " (default: those that fit)");
  arguments.List("--vary", &words->knobs,
                 "a setting to search in place of the usual ones, as SECTION.KEY=LOW:HIGH or SECTION.KEY=A|B");
  arguments.Integer("--tries", &words->tries, 2, 10'000, "schedulers with settings that are tried (default: 64)");
  arguments.Integer("--repeat", &words->repeat, sim::kFewestForSignificance, 1'000,
                    "runs by which what the search has left is judged (default: 20)");
  arguments.Text("--check", &words->check,
                 "with --workload: also run the one that is chosen and the one in force on real daemons; local");
  arguments.Text("-o,--output", &words->directory,
                 "directory for the report, the tries and the scheduler file of the one that is chosen");
  arguments.Flag("--apply", &words->apply, "with -o: put the one that is chosen in force on the cluster");
  arguments.Text("--undo", &words->undo,
                 "instead of tuning: put back what was in force before the tuning of this directory was applied");
  arguments.Flag("--force", &words->force, "discard the runs of another comparison in the directory");
  arguments.Flag("--json", &words->json, "print what was found as JSON");
  arguments.Example("--since 168h -o tuned --apply");
  arguments.Example("--undo tuned");
  arguments.Example("--scheduler fair+delay --vary delay.rack_wait=0s:30s --goal turnaround,traffic");
}

// What is known before the first run.
struct Prepared {
  compare::History history;
  std::vector<const compare::Metric*> goals;
  std::vector<std::string> schedulers;  // that are tried
  std::vector<Knob> knobs;              // that were named
  compare::SimExtras extras;
  Parts parts;
  std::string note;  // about the goals, for people; empty: there is nothing to say
};

Result<std::vector<const compare::Metric*>> ReadGoals(const std::string& text, const sim::SimulationFile& history) {
  std::vector<const compare::Metric*> goals;
  for (const std::string& word : cli::SplitAtCommas(text)) {
    MILLRACE_ASSIGN(const compare::Metric* metric, compare::MetricOfGoal(word, history));
    MILLRACE_CHECK(metric->better == sim::Better::kLower, "a goal of which more is better");
    if (std::ranges::find(goals, metric) != goals.end()) return Invalid("--goal names " + word + " twice");
    goals.push_back(metric);
  }
  if (goals.empty()) return Invalid("--goal names no goal");
  if (goals.size() > kMostGoals)
    return Invalid("--goal takes at most " + std::to_string(kMostGoals) +
                   " goals: with more of them almost everything is better by one");
  return goals;
}

Status CheckWords(const TuneWords& words) {
  if (words.apply && !words.history.workload.empty())
    return Invalid("--apply is for what a cluster has done, so it does not go with --workload");
  if (words.apply && words.directory.empty())
    return Invalid("--apply needs -o DIR, where what was in force before is kept for --undo");
  if (!words.directory.empty()) MILLRACE_TRY(CheckNotApplied(words.directory));
  if (words.check.empty()) return Status::Ok();
  if (words.check != "local")
    return Invalid("--check " + Quote(words.check) + ": runs can be checked on local daemons only, by --check local");
  if (words.history.workload.empty())
    return Invalid(
        "--check needs --workload, a file whose jobs name their programs: the jobs of a cluster's history cannot be "
        "run again");
  return Status::Ok();
}

// Returns the seeds of the draws of the search.
std::vector<std::uint64_t> SearchSeeds(const compare::History& history) {
  Random random(history.file.seed ^ kSearchSeeds);
  std::vector<std::uint64_t> seeds(std::end(kRounds)[-1]);
  for (std::uint64_t& seed : seeds) seed = random.Next() >> 1;
  return seeds;
}

std::uint32_t Threads() { return std::max(1U, std::thread::hardware_concurrency()); }

// Returns the first goal of which some run of the scheduler in force has no value; null if there is none. Returns
// kInvalid if in some run jobs do not end.
Result<const compare::Metric*> GoalWithoutValues(const Prepared& prepared, std::uint32_t judged) {
  const compare::History& history = prepared.history;
  const std::vector<std::uint64_t> searched = SearchSeeds(history);
  const auto size = static_cast<std::uint32_t>(searched.size());
  using Goal = const compare::Metric*;
  const auto one = [&](std::uint32_t run) -> Result<Goal> {
    const bool first = run < size;
    MILLRACE_ASSIGN(const sim::SimulationFile file, first ? prepared.parts.searched(searched[run])
                                                          : prepared.parts.judged(history.file.seed + run - size));
    MILLRACE_ASSIGN(const compare::RunOutcome outcome, compare::SimulateOnce(file, history.in_force, prepared.extras));
    if (outcome.result.summary.unfinished > 0) {
      return Invalid("under " + history.in_force.label + ", which is in force, " +
                     Counted(outcome.result.summary.unfinished, "job does", "jobs do") +
                     " not end in the simulator, so there is nothing to compare with; `millrace sim` says why");
    }
    for (const Goal goal : prepared.goals) {
      if (!goal->of(outcome)) return goal;
    }
    return nullptr;
  };
  const auto name = [](std::uint32_t run) { return "run " + std::to_string(run); };
  MILLRACE_ASSIGN(const std::vector<Goal> without, compare::OnThreads<Goal>(size + judged, Threads(), one, name));
  for (const Goal goal : without) {
    if (goal != nullptr) return goal;
  }
  return nullptr;
}

Status TakeGoals(const std::string& text, Prepared* prepared) {
  MILLRACE_ASSIGN(prepared->goals, ReadGoals(text, prepared->history.file));
  std::vector<std::string> keys;
  for (const compare::Metric* goal : prepared->goals) keys.emplace_back(goal->key);
  prepared->extras = compare::ExtrasFor(keys);
  return Status::Ok();
}

// Takes the goals that were named, or else those of the default that the history can be judged by.
Status ChooseGoals(const TuneWords& words, Prepared* prepared) {
  MILLRACE_TRY(TakeGoals(words.goals.empty() ? "turnaround,prediction" : words.goals, prepared));
  MILLRACE_ASSIGN(const compare::Metric* without,
                  GoalWithoutValues(*prepared, static_cast<std::uint32_t>(words.repeat)));
  if (without == nullptr) return Status::Ok();
  const std::string why =
      "in some draws of these jobs there is no " + std::string(without->name) +
      (without->key == "foretold" ? ": when they come, nothing is known yet of how long such jobs take" : "");
  if (!words.goals.empty()) return Invalid("--goal: " + why + "; name other goals");
  prepared->note = "By turnaround alone: " + why + ".";
  return TakeGoals("turnaround", prepared);
}

Status Prepare(const TuneWords& words, Prepared* prepared) {
  const compare::History& history = prepared->history;
  prepared->parts = PartsOf(history);
  for (const std::string& knob : words.knobs) {
    Result<Knob> read = ParseKnob(knob);
    if (!read.ok()) return read.status().Within("--vary");
    prepared->knobs.push_back(*std::move(read));
  }
  for (const std::string& word : words.schedulers.settings) {
    if (cli::HasLabel(word))
      return Invalid(
          "--settings " + Quote(word) +
          ": tune searches the settings itself, so it takes none for one scheduler; `millrace compare` does");
  }
  if (words.schedulers.schedulers.empty()) {
    prepared->schedulers = compare::CandidatesFor(history.file, history.in_force.settings);
    return ChooseGoals(words, prepared);
  }
  cli::SchedulerWords named{words.schedulers.schedulers, {}};
  MILLRACE_ASSIGN(const cli::Schedulers read, cli::ReadSchedulers(named));
  MILLRACE_TRY(cli::CheckNoPrograms(read.variants, "`millrace compare` takes it"));
  for (const sched::Variant& variant : read.variants) {
    if (variant.label != variant.scheduler)
      return Invalid("--scheduler " + Quote(variant.label + "=" + variant.scheduler) +
                     ": tune names what it tries itself, so leave the label out");
    prepared->schedulers.push_back(variant.scheduler);
  }
  return ChooseGoals(words, prepared);
}

// Makes the runs of a search.
class Searching {
 public:
  Searching(const Prepared& prepared, const compare::DrawSimulation& draw, const std::vector<Try>& tries,
            const console::Console& console)
      : prepared_(prepared),
        draw_(draw),
        tries_(tries),
        shows_(console.err_is_terminal),
        line_(console),
        seeds_(SearchSeeds(prepared.history)) {}

  // Returns kCancelled if it was interrupted.
  Result<std::vector<Measured>> Make(const std::vector<Wanted>& runs) {
    for (const Wanted& run : runs) MILLRACE_TRY(Draw(run.draw));
    const std::uint32_t threads = Threads();
    std::vector<Measured> measured;
    while (measured.size() < runs.size()) {
      if (interrupt_.Seen()) return Cancelled("interrupted");
      if (shows_) line_.Show("searching: " + Counted(done_, "run"));
      const std::size_t begin = measured.size();
      const auto count = static_cast<std::uint32_t>(std::min(runs.size() - begin, std::size_t{threads} * kAtOnce));
      const auto one = [&](std::uint32_t at) { return MakeOne(runs[begin + at]); };
      const auto name = [&](std::uint32_t at) { return tries_[runs[begin + at].of].variant.label; };
      MILLRACE_ASSIGN(std::vector<Measured> some, compare::OnThreads<Measured>(count, threads, one, name));
      std::ranges::move(some, std::back_inserter(measured));
      done_ += count;
    }
    line_.Clear();
    return measured;
  }

 private:
  static constexpr std::size_t kAtOnce = 4;  // runs of a thread between two looks at the signal

  Status Draw(std::uint32_t draw) {
    while (drawn_.size() <= draw) {
      MILLRACE_ASSIGN(sim::SimulationFile file, draw_(seeds_[drawn_.size()]));
      drawn_.push_back(std::move(file));
    }
    return Status::Ok();
  }
  [[nodiscard]] Result<Measured> MakeOne(const Wanted& run) const {
    const sched::Variant& variant = tries_[run.of].variant;
    const sim::SimulationFile& file = drawn_[run.draw];
    MILLRACE_ASSIGN(compare::RunOutcome outcome, compare::SimulateOnce(file, variant, prepared_.extras));
    if (outcome.result.summary.unfinished > 0) return Measured{};
    std::vector<double> values;
    for (const compare::Metric* goal : prepared_.goals) {
      const std::optional<double> value = goal->of(outcome);
      if (!value) return Measured{};
      values.push_back(*value);
    }
    return Measured(std::move(values));
  }

  const Prepared& prepared_;
  const compare::DrawSimulation& draw_;
  const std::vector<Try>& tries_;
  const bool shows_;
  console::StatusLine line_;
  const console::Interrupt interrupt_;
  const std::vector<std::uint64_t> seeds_;
  std::vector<sim::SimulationFile> drawn_;
  std::size_t done_ = 0;
};

// The runs of some schedulers on an arena, which outlive what is told of them.
struct Runs {
  compare::Subject subject;
  compare::Design design;
  std::optional<compare::RunStore> store;
  std::optional<Material> material;  // nothing if it was interrupted
};

Status MakeAll(const Invocation& invocation, const Prepared& prepared, compare::Arena& arena,
               const std::string& purpose, const std::string& directory, bool force, Runs* runs) {
  runs->subject.nodes = arena.Nodes();
  runs->subject.where = arena.Kind();
  MILLRACE_ASSIGN(runs->store, compare::RunStore::Open(
                                   directory, ConditionsOf(purpose, prepared.history, runs->subject, runs->design),
                                   runs->design, runs->subject.nodes.size(), force));
  MILLRACE_TRY(compare::RemoveOldForms(directory, *runs->store));
  MILLRACE_ASSIGN(runs->material, compare::MakeMaterial(invocation, runs->subject, runs->design, arena, *runs->store));
  return Status::Ok();
}

compare::Subject SubjectOf(const Prepared& prepared, const Words& args, std::vector<sched::Variant> schedulers) {
  compare::Subject subject;
  subject.schedulers = std::move(schedulers);
  subject.settings_text = prepared.history.in_force.settings_text;
  for (const compare::Metric* goal : prepared.goals) subject.headline.emplace_back(goal->key);
  subject.workload_name = prepared.history.name, subject.workload_text = prepared.history.text;
  compare::FillSubject(kVerb, args, &subject);
  return subject;
}

// Compares the whole history as it really was with its simulation, by the first goal.
Result<std::optional<compare::ModelCheck>> CheckModel(const Prepared& prepared) {
  if (!prepared.history.live) return std::optional<compare::ModelCheck>{};
  MILLRACE_ASSIGN(const compare::RunOutcome simulated,
                  compare::SimulateOnce(prepared.history.file, prepared.history.in_force, prepared.extras));
  compare::RunOutcome live;
  live.result = *prepared.history.live;
  const std::optional<double> was = prepared.goals[0]->of(live), would_be = prepared.goals[0]->of(simulated);
  if (!was || !would_be) return std::optional<compare::ModelCheck>{};
  return std::optional(compare::ModelCheck{*was, *would_be});
}

// Everything from the search to what is told. `told` and what it points to outlive the call.
class Tuner {
 public:
  Tuner(const Invocation& invocation, const TuneWords& words, const Words& args, const Prepared& prepared)
      : invocation_(invocation), words_(words), args_(args), prepared_(prepared) {}

  // Returns kCancelled if it was interrupted.
  Status Run() {
    if (words_.directory.empty()) {
      MILLRACE_ASSIGN(TempDir made, TempDir::Make("millrace-tune-"));
      scratch_.emplace(std::move(made));
      directory_ = scratch_->path() + "/comparison";
    } else {
      directory_ = words_.directory;
    }
    told_.history = &prepared_.history, told_.goals = prepared_.goals;
    told_.parts = prepared_.parts, told_.note = prepared_.note;
    MILLRACE_TRY(SearchTries());
    MILLRACE_TRY(Judge());
    MILLRACE_ASSIGN(told_.model, CheckModel(prepared_));
    if (!words_.check.empty() && told_.tuning.chosen) MILLRACE_TRY(CheckLive());
    if (words_.directory.empty()) return Status::Ok();
    MILLRACE_TRY(Write());
    if (!words_.apply || !told_.tuning.chosen) return Status::Ok();
    const Try& to = told_.tries[told_.searched.tries[told_.finalists[*told_.tuning.chosen - 1]].of];
    MILLRACE_ASSIGN(told_.applied, Apply(invocation_, prepared_.history, to, directory_));
    return Status::Ok();
  }
  [[nodiscard]] const Told& told() const { return told_; }
  // Returns what a reader needs to know before believing it.
  [[nodiscard]] std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings = compare::WarningsOf(*told_.material);
    if (told_.live) std::ranges::move(compare::WarningsOf(*told_.live->runs), std::back_inserter(warnings));
    return warnings;
  }

 private:
  Status SearchTries() {
    const compare::History& history = prepared_.history;
    Random random(history.file.seed);
    const auto knobs = [&](const std::string& scheduler) {
      return prepared_.knobs.empty() ? KnobsOf(scheduler) : prepared_.knobs;
    };
    told_.tries =
        DrawTries(history.in_force, prepared_.schedulers, knobs, static_cast<std::size_t>(words_.tries), random);
    if (told_.tries.size() == 1)
      return Invalid("there is nothing to try: " + history.in_force.scheduler +
                     " has no settings that are searched; name other schedulers (--scheduler) or settings (--vary)");
    std::set<std::string> schedulers;
    for (const Try& one : told_.tries) schedulers.insert(one.variant.scheduler);
    told_.schedulers = schedulers.size();
    Searching searching(prepared_, told_.parts.searched, told_.tries, invocation_.console);
    MILLRACE_ASSIGN(told_.searched, Search(told_.tries.size(), prepared_.goals.size(),
                                           [&](const std::vector<Wanted>& runs) { return searching.Make(runs); }));
    told_.finalists = Finalists(told_.searched, kMostFinalists);
    return Status::Ok();
  }

  Status Judge() {
    std::vector<sched::Variant> schedulers{prepared_.history.in_force};
    for (const std::size_t at : told_.finalists) schedulers.push_back(told_.tries[told_.searched.tries[at].of].variant);
    judged_.subject = SubjectOf(prepared_, args_, std::move(schedulers));
    judged_.design.schedulers = static_cast<std::uint32_t>(judged_.subject.schedulers.size());
    judged_.design.seed = prepared_.history.file.seed;
    judged_.design.same_against_same = false;  // in the simulator they are the same
    judged_.design.blocks = static_cast<std::uint32_t>(words_.repeat);
    MILLRACE_ASSIGN(compare::SimArena arena,
                    compare::SimArena::Make(told_.parts.judged, judged_.design.seed, prepared_.extras));
    arena_ = std::make_unique<compare::SimArena>(std::move(arena));
    MILLRACE_TRY(MakeAll(invocation_, prepared_, *arena_, "tuning", directory_, words_.force, &judged_));
    if (!judged_.material) return Cancelled("interrupted");
    told_.material = &*judged_.material;
    told_.tuning = TuningOf(*told_.material, prepared_.goals);
    return Status::Ok();
  }

  Status CheckLive() {
    live_.subject =
        SubjectOf(prepared_, args_, {judged_.subject.schedulers[0], judged_.subject.schedulers[*told_.tuning.chosen]});
    std::erase(live_.subject.headline, "foretold");  // journals do not keep it
    if (live_.subject.headline.empty()) live_.subject.headline = {"turnaround"};
    live_.design.schedulers = 2;
    live_.design.seed = prepared_.history.file.seed;
    live_.design.blocks = kLiveRuns;
    live_.design.same_against_same = false;
    compare::LiveOptions options{.kind = words_.check, .invocation = invocation_, .workload = words_.history.workload};
    MILLRACE_ASSIGN(live_arena_, compare::MakeLiveArena(std::move(options)));
    MILLRACE_TRY(MakeAll(invocation_, prepared_, *live_arena_, "live check of a tuning", directory_ + "/live",
                         words_.force, &live_));
    if (!live_.material) return Cancelled("interrupted");
    told_.live = LiveCheck{words_.check, &*live_.material};
    return Status::Ok();
  }

  Status Write() {
    if (!told_.finalists.empty()) MILLRACE_TRY(compare::WriteReport(directory_, *arena_, &*judged_.material));
    if (told_.live) MILLRACE_TRY(compare::WriteReport(directory_ + "/live", *live_arena_, &*live_.material));
    MILLRACE_TRY(WriteFileDurably(directory_ + "/tries.csv", TriesCsv(told_)));
    return told_.tuning.chosen ? WriteFileDurably(directory_ + "/scheduler.toml", ChosenSettings(told_)) : Status::Ok();
  }

  const Invocation& invocation_;
  const TuneWords& words_;
  const Words& args_;
  const Prepared& prepared_;
  std::optional<TempDir> scratch_;
  std::string directory_;
  std::unique_ptr<compare::SimArena> arena_;
  std::unique_ptr<compare::Arena> live_arena_;
  Runs judged_, live_;
  Told told_;
};

int SayTooLittle(const Invocation& invocation, const TuneWords& words, std::size_t jobs) {
  const std::string why = compare::TooLittle(jobs).why;
  Printer out(invocation.console);
  out << (words.json ? console::Dump({{"tuning", TuningName(TuningKind::kNone)}, {"why", why}}) : why) << "\n";
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail(kVerb, written);
}

int UndoTuning(const Invocation& invocation, const std::string& directory) {
  const Result<std::string> undone = Undo(invocation, directory);
  if (!undone.ok()) return invocation.FailToStart(kVerb, undone.status());
  Printer out(invocation.console);
  out << *undone << "\n";
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail(kVerb, written);
}

int Tune(const Invocation& invocation, const TuneWords& words, const Words& args, const Prepared& prepared) {
  Tuner tuner(invocation, words, args, prepared);
  const Status ran = tuner.Run();
  if (ran.code() == StatusCode::kCancelled) {
    console::SayLine(invocation.console, "stopped");
    return 128 + SIGINT;
  }
  if (ran.code() == StatusCode::kInvalid) return invocation.FailToStart(kVerb, ran);
  if (!ran.ok()) return invocation.Fail(kVerb, ran);
  const Told& told = tuner.told();
  Printer out(invocation.console);
  out << (words.json ? console::Dump(TuningJson(told)) + "\n" : TuningText(told));
  if (!words.json && !words.directory.empty()) {
    out << "All tries are in " << words.directory << "/tries.csv";
    if (!told.finalists.empty()) out << ", the report is " << words.directory << "/report.html";
    if (told.tuning.chosen) out << ", the scheduler file " << words.directory << "/scheduler.toml";
    out << ".\n";
  }
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail(kVerb, written);
  for (const std::string& warning : tuner.Warnings())
    console::SayLine(invocation.console, "warning: " + Printable(warning));
  return kDone;
}

}  // namespace

int TuneCommand(const Invocation& invocation, const Words& args) {
  Arguments arguments(kVerb, "",
                      "Searches schedulers and their settings in the simulator for what would have served the cluster "
                      "better by several goals, and judges what it finds on jobs that the search has not seen.");
  TuneWords words;
  Declare(arguments, &words);
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  if (const Status wrong = CheckWords(words); !wrong.ok()) return invocation.FailToStart(kVerb, wrong);
  if (!words.undo.empty()) {
    if (args.size() == 2 || args.size() == 1) return UndoTuning(invocation, words.undo);
    return invocation.FailToStart(kVerb, Invalid("--undo goes with nothing else"));
  }
  Result<compare::History> history = ReadHistory(invocation, words.history, words.schedulers);
  const bool nothing = words.history.workload.empty() && history.status().code() == StatusCode::kNotFound;
  if (nothing) return SayTooLittle(invocation, words, 0);
  if (!history.ok()) return invocation.FailToStart(kVerb, history.status());
  const std::size_t jobs = history->file.workload.jobs.size();
  if (jobs < compare::kFewestJobs) return SayTooLittle(invocation, words, jobs);
  Prepared prepared;
  prepared.history = std::move(*history);
  if (const Status wrong = Prepare(words, &prepared); !wrong.ok()) return invocation.FailToStart(kVerb, wrong);
  return Tune(invocation, words, args, prepared);
}

}  // namespace millrace::tune
