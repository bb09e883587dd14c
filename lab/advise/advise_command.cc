// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/advise_command.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/file.h"
#include "base/text.h"
#include "lab/advise/advice_text.h"
#include "lab/advise/candidates.h"
#include "lab/advise/goal.h"
#include "lab/advise/history_runs.h"
#include "lab/advise/history_words.h"
#include "lab/command/forms.h"
#include "lab/command/scheduler_names.h"

namespace millrace::compare {
namespace {

using cli::Invocation;
using cli::Words;
using console::Arguments;
using console::kDone;
using console::Printer;

constexpr const char* kVerb = "advise";

struct AdviseWords {
  HistoryWords history;
  cli::SchedulerWords schedulers;
  std::string goal = "turnaround", directory;
  std::int64_t repeat = 20;
  bool json = false, force = false;
};

void Declare(Arguments& arguments, AdviseWords* words) {
  DeclareHistory(arguments, &words->history);
  arguments.Text("--goal", &words->goal,
                 "turnaround, makespan, tail, prediction, fairness, deadlines or traffic (default: turnaround)");
  cli::DeclareSchedulers(arguments, &words->schedulers, " (default: those that fit)");
  arguments.Integer("--repeat", &words->repeat, sim::kFewestForSignificance, 1'000,
                    "runs of each scheduler (default: 20)");
  arguments.Text("-o,--output", &words->directory, "directory for the report of the comparison behind the advice");
  arguments.Flag("--force", &words->force, "discard the runs of another comparison in the directory");
  arguments.Flag("--json", &words->json, "print the advice as JSON");
}

// The decisions that precede the first run.
struct Prepared {
  History history;
  const Metric* metric = nullptr;
  Subject subject;
  Design design;
};

// Returns the scheduler in force, then the others.
Result<std::vector<sched::Variant>> SchedulersFor(const AdviseWords& words, const History& history) {
  cli::SchedulerWords named = words.schedulers;
  if (named.schedulers.empty()) {
    for (const std::string& name : CandidatesFor(history.file, history.in_force.settings))
      named.schedulers += (named.schedulers.empty() ? "" : ",") + name;
  }
  MILLRACE_ASSIGN(cli::Schedulers read, cli::ReadSchedulers(named));
  MILLRACE_TRY(cli::CheckNoPrograms(read.variants, "`millrace compare` takes it"));
  std::vector<sched::Variant> schedulers{history.in_force};
  for (sched::Variant& variant : read.variants) {
    if (variant.settings_text.empty())
      variant.settings_text = history.in_force.settings_text, variant.settings = history.in_force.settings;
    const bool same_settings = variant.settings_text == history.in_force.settings_text;
    if (variant.scheduler == history.in_force.scheduler && same_settings) continue;
    if (variant.label == schedulers[0].label) schedulers[0].label += "-now";
    schedulers.push_back(std::move(variant));
  }
  if (schedulers.size() == 1)
    return Invalid("--scheduler names none but " + schedulers[0].scheduler + ", which is in force");
  return schedulers;
}

Result<History> HistoryFor(const Invocation& invocation, const AdviseWords& words) {
  const std::vector<std::string> goals = GoalNames();
  if (std::ranges::find(goals, words.goal) == goals.end()) return MetricOfGoal(words.goal, {}).status();
  return ReadHistory(invocation, words.history, words.schedulers);
}

// Reads the question about a history that has jobs enough.
Status Prepare(const AdviseWords& words, const Words& args, Prepared* prepared) {
  const History& history = prepared->history;
  MILLRACE_ASSIGN(prepared->metric, MetricOfGoal(words.goal, history.file));
  Subject& subject = prepared->subject;
  MILLRACE_ASSIGN(subject.schedulers, SchedulersFor(words, history));
  prepared->history.in_force.label = subject.schedulers[0].label;
  subject.settings_text = history.in_force.settings_text;
  subject.headline = {std::string(prepared->metric->key)};
  subject.where = "sim";
  subject.workload_name = history.name, subject.workload_text = history.text;
  FillSubject(kVerb, args, &subject);
  Design& design = prepared->design;
  design.schedulers = static_cast<std::uint32_t>(subject.schedulers.size());
  design.seed = history.file.seed;
  design.same_against_same = false;  // in the simulator they are the same
  design.blocks = static_cast<std::uint32_t>(words.repeat);
  return Status::Ok();
}

// The real history, to be compared with the first run of the scheduler in force.
std::optional<ModelCheck> CheckModel(const Prepared& prepared, const Material& material) {
  if (!prepared.history.live) return std::nullopt;
  RunOutcome live;
  live.result = *prepared.history.live;
  for (const RunRecord* record : material.counting) {
    if (record->run.block != 0 || record->run.scheduler != material.design.baseline) continue;
    const std::optional<double> simulated = prepared.metric->of(record->outcome), really = prepared.metric->of(live);
    if (simulated && really) return ModelCheck{*really, *simulated};
  }
  return std::nullopt;
}

int Advise(const Invocation& invocation, const AdviseWords& words, Prepared& prepared) {
  Result<SimArena> arena =
      SimArena::Make(prepared.history.draw, prepared.design.seed, ExtrasFor(prepared.subject.headline));
  if (!arena.ok()) return invocation.FailToStart(kVerb, arena.status());
  prepared.subject.nodes = arena->Nodes();
  Result<TempDir> scratch = TempDir::Make("millrace-advise-");
  if (!scratch.ok()) return invocation.FailToStart(kVerb, scratch.status());
  const std::string directory = words.directory.empty() ? scratch->path() + "/comparison" : words.directory;
  Result<RunStore> store =
      RunStore::Open(directory, ConditionsOf("advice", prepared.history, prepared.subject, prepared.design),
                     prepared.design, prepared.subject.nodes.size(), words.force);
  if (!store.ok()) return invocation.FailToStart(kVerb, store.status());
  if (const Status removed = RemoveOldForms(directory, *store); !removed.ok())
    return invocation.FailToStart(kVerb, removed);
  Result<std::optional<Material>> made = MakeMaterial(invocation, prepared.subject, prepared.design, *arena, *store);
  if (!made.ok()) return invocation.Fail(kVerb, made.status());
  if (!made->has_value()) {
    console::SayLine(invocation.console, "stopped");
    return 128 + SIGINT;
  }
  Material& material = **made;
  Advice advice = AdviceOf(material, *prepared.metric, prepared.history.redrawn);
  advice.model = CheckModel(prepared, material);
  if (!words.directory.empty()) {
    if (const Status written = WriteReport(directory, *arena, &material); !written.ok())
      return invocation.Fail(kVerb, written);
  }
  Printer out(invocation.console);
  out << (words.json ? console::Dump(AdviceJson(advice, material, prepared.history)) + "\n"
                     : AdviceText(advice, material, prepared.history));
  if (!words.json && !words.directory.empty())
    out << "The report is " << directory << "/report.html, with tables and figures beside it.\n";
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail(kVerb, written);
  for (const std::string& warning : WarningsOf(material))
    console::SayLine(invocation.console, "warning: " + Printable(warning));
  return kDone;
}

int SayTooLittle(const Invocation& invocation, const AdviseWords& words, std::size_t jobs) {
  const Advice advice = TooLittle(jobs);
  Printer out(invocation.console);
  out << (words.json ? console::Dump(AdviceJson(advice)) : advice.why) << "\n";
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail(kVerb, written);
}

}  // namespace

int AdviseCommand(const Invocation& invocation, const Words& args) {
  Arguments arguments(kVerb, "",
                      "Simulates what the cluster has done under every scheduler that fits, and says which would have "
                      "served it best, how sure that is, and what to change.");
  AdviseWords words;
  Declare(arguments, &words);
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  Prepared prepared;
  Result<History> history = HistoryFor(invocation, words);
  const bool nothing = words.history.workload.empty() && history.status().code() == StatusCode::kNotFound;
  if (nothing) return SayTooLittle(invocation, words, 0);
  if (!history.ok()) return invocation.FailToStart(kVerb, history.status());
  const std::size_t jobs = history->file.workload.jobs.size();
  if (jobs < kFewestJobs) return SayTooLittle(invocation, words, jobs);
  prepared.history = std::move(*history);
  if (const Status wrong = Prepare(words, args, &prepared); !wrong.ok()) return invocation.FailToStart(kVerb, wrong);
  return Advise(invocation, words, prepared);
}

}  // namespace millrace::compare
