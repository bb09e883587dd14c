// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <optional>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/console/table.h"
#include "base/ids/counted.h"
#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/documents.h"
#include "client/cli/report.h"
#include "client/job_client/job_client.h"
#include "schedulers/core/wait_view.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::cli {
namespace {

using console::Arguments;
using console::Printer;
using Json = nlohmann::ordered_json;
using View = job::SchedulerView;

std::string MoreOf(std::uint32_t count) { return count == 0 ? "" : "and " + std::to_string(count) + " more\n"; }

// "34 us an event, 1.2 s in all; the master has used 3.4 s of processors"
std::string CostInWords(const View::Cost& cost) {
  constexpr std::uint64_t kNanosPerMicro = 1'000;
  const std::uint64_t deciding = cost.deciding / kNanosPerMicro;
  std::string text = FormatDuration(static_cast<Micros>(deciding / cost.events)) + " an event, " +
                     FormatDuration(static_cast<Micros>(deciding)) + " in all";
  if (cost.master_cpu > 0) text += "; the master has used " + FormatDuration(cost.master_cpu) + " of processors";
  return text;
}

Json ToJson(const View::GroupSlots& slots) {
  return {{"running", slots.running},
          {"demand", slots.demand},
          {"share", slots.share},
          {"minimum", slots.minimum},
          {"maximum", slots.maximum ? Json(*slots.maximum) : Json(nullptr)},
          {"preempts_at", console::Seconds(slots.preempts_at)}};
}

Json ToJson(const View::Fact& fact) {
  if (!fact.number) return fact.value;
  return *fact.number;
}

// Returns the name with the unit of the number: "delay.rack_wait_s".
std::string KeyOf(const View::Fact& fact) {
  return fact.number && !fact.unit.empty() ? fact.name + "_" + fact.unit : fact.name;
}

Json ToJson(const View& view) {
  Json json{{"name", view.name},
            {"file", console::TextOrNull(view.file)},
            {"file_problem", console::TextOrNull(view.file_problem)},
            {"facts", Json::object()},
            {"group_noun", view.group_noun},
            {"groups", Json::array()},
            {"waiting", Json::array()},
            {"deadlines", Json::array()},
            {"cost",
             {{"deciding_s", static_cast<double>(view.cost.deciding) / 1e9},
              {"events", view.cost.events},
              {"master_cpu_s", console::Seconds(view.cost.master_cpu)}}},
            {"facts_not_listed", view.more_facts},
            {"groups_not_listed", view.more_groups},
            {"waiting_not_listed", view.more_waits}};
  for (const View::Fact& fact : view.facts) json["facts"][KeyOf(fact)] = ToJson(fact);
  for (const View::Group& group : view.groups) {
    json["groups"].push_back({{"name", group.name},
                              {"weight", group.weight},
                              {"jobs", group.jobs},
                              {"maps", ToJson(group.maps)},
                              {"reduces", ToJson(group.reduces)}});
  }
  for (const View::Wait& wait : view.waits) json["waiting"].push_back(WaitToJson(wait));
  for (const View::Deadline& deadline : view.deadlines) {
    json["deadlines"].push_back({{"job", deadline.job.value},
                                 {"deadline_at", console::Seconds(deadline.at)},
                                 {"slack_s", console::Seconds(deadline.slack)}});
  }
  return json;
}

Json ToJson(const sched::PolicyInfo& policy) {
  Json refused = Json::object();
  for (const sched::PolicyInfo::RefusedPart& part : policy.refused) refused[part.name] = part.why;
  return {{"name", policy.name},
          {"one_line", policy.one_line},
          {"parts", policy.parts},
          {"refused_parts", std::move(refused)}};
}

void AddGroupRow(const View::Group& group, bool reduces, Micros now, std::vector<Words>* rows) {
  const View::GroupSlots& slots = reduces ? group.reduces : group.maps;
  rows->push_back({reduces ? "" : group.name, reduces ? "" : sched::SlotsInWords(group.weight),
                   reduces ? "" : std::to_string(group.jobs), reduces ? "reduce" : "map", std::to_string(slots.running),
                   std::to_string(slots.demand), sched::SlotsInWords(slots.share), std::to_string(slots.minimum),
                   slots.maximum ? std::to_string(*slots.maximum) : "-",
                   slots.preempts_at ? FormatDuration(std::max(*slots.preempts_at - now, Micros{0})) : "-"});
}

int ListSchedulers(const Invocation& invocation, const Words& args) {
  Arguments arguments(
      "scheduler list", "",
      "Lists the schedulers of this version of Millrace, and the parts that can be added to each. It needs no cluster; "
      "`scheduler show` says which one is in use.");
  bool json = false, wide = false;
  arguments.Flag("--json", &json, "print one JSON array");
  arguments.Flag("-w,--wide", &wide, "show all columns whole, whatever the width of the terminal");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  Printer out(invocation.console);
  console::JsonList list(out);
  std::vector<Words> rows;
  for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
    if (json) list.Add(ToJson(policy));
    rows.push_back({policy.name, Joined(policy.parts, " "), policy.one_line});
  }
  if (json) {
    list.Close();
  } else {
    const std::vector<console::Column> columns{
        {"SCHEDULER"}, {"PARTS", 1}, {"WHAT IT DOES", console::kAlwaysShown, 60}};
    out << console::LayOut(columns, rows, console::TableWidth(invocation.console, wide));
  }
  return kDone;
}

int ShowScheduler(const Invocation& invocation, const Words& args) {
  Arguments arguments("scheduler show", "",
                      "Shows the scheduler in use: pools or queues, their shares, and why each waiting job waits.");
  bool json = false, wide = false;
  arguments.Flag("--json", &json, "print one JSON object");
  arguments.Flag("-w,--wide", &wide, "show all columns whole, whatever the width of the terminal");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("scheduler show", files.status(), kUnreachable);
  const Result<View> view = job::JobClient(**files).ShowScheduler();
  if (!view.ok()) return invocation.Fail("scheduler show", view.status());
  const std::size_t width = console::TableWidth(invocation.console, wide);
  Printer(invocation.console) << (json ? console::Dump(ToJson(*view)) + "\n" : SchedulerText(*view, width));
  return kDone;
}

int SetScheduler(const Invocation& invocation, const Words& args) {
  Arguments arguments("scheduler set", "NAME[+PART...]",
                      "Changes the scheduler while jobs run, for example to fair+delay+ccs. `scheduler list` shows the "
                      "names. external:FILE asks a program of the master's directory master.programs.");
  std::string program, fallback;
  arguments.Text("--program", &program, "for external: the program, as in external:FILE");
  arguments.Text("--fallback", &fallback,
                 "for external: what decides where the program does not, and takes over from it (default: as the "
                 "scheduler file says)");
  arguments.Example("fair+delay+ccs");
  arguments.Example("external:shortest.py --fallback fair");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  std::string name = arguments.operands()[0];
  if (!program.empty()) {
    if (!name.starts_with(sched::kExternal) || name.starts_with(std::string(sched::kExternal) + ":")) {
      return invocation.Fail("scheduler set",
                             Invalid("--program goes with the scheduler external, and " + Quote(name) +
                                     " is another, or names one already"),
                             kWrongUsage);
    }
    name.insert(sched::kExternal.size(), ":" + program);
  }
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("scheduler set", files.status(), kUnreachable);
  const Status set = job::JobClient(**files).SetScheduler(name, fallback);
  if (!set.ok())
    return invocation.Fail("scheduler set", set, set.code() == StatusCode::kInvalid ? kWrongUsage : kFailed);
  Printer(invocation.console) << "the scheduler is " << Printable(name) << " from now on\n";
  return kDone;
}

int CheckFile(const Invocation& invocation, const Words& args) {
  Arguments arguments("scheduler check", "FILE...",
                      "Reads scheduler files as the master does (master.scheduler_file), and says what is wrong with "
                      "them. It needs no cluster.");
  arguments.Offline();
  arguments.Example("/etc/millrace/scheduler.toml");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, args.size())) return *status;
  int exit_status = kDone;
  for (const std::string& file : arguments.operands()) {
    const Result<sched::Settings> settings = sched::LoadSettings(file);
    if (!settings.ok()) exit_status = invocation.Fail("scheduler check", settings.status());
  }
  return exit_status;
}

int ForgetPrograms(const Invocation& invocation, const Words& args) {
  Arguments arguments("scheduler forget", "",
                      "Forgets what earlier runs of programs showed (times of tasks, sizes of outputs), from which cp, "
                      "joss and fresh estimate. Jobs that are submitted already keep their estimates.");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("scheduler forget", files.status(), kUnreachable);
  const Result<std::uint32_t> programs = job::JobClient(**files).ForgetPrograms();
  if (!programs.ok()) return invocation.Fail("scheduler forget", programs.status());
  Printer(invocation.console) << "forgotten: " << Counted(*programs, "program") << "\n";
  return kDone;
}

}  // namespace

Json SchedulerDocument(const View& view) { return ToJson(view); }

std::string SchedulerText(const View& view, std::size_t width) {
  using console::Column;
  using console::LayOut;
  constexpr int kAlways = console::kAlwaysShown;
  std::string text = Printable(view.name) + "\n";
  std::vector<Words> facts;
  if (!view.file.empty()) facts.push_back({"scheduler file", view.file});
  if (!view.file_problem.empty()) facts.push_back({"refused", view.file_problem});
  for (const View::Fact& fact : view.facts) facts.push_back({fact.name, fact.value});
  if (view.cost.events > 0) facts.push_back({"deciding", CostInWords(view.cost)});
  text += FormatTable(facts);
  text += MoreOf(view.more_facts);
  if (!view.groups.empty()) {
    std::string noun = view.group_noun;
    for (char& letter : noun) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    const std::vector<Column> columns{{noun, kAlways, 8},   {"WEIGHT", 2},     {"JOBS", 5},  {"KIND", kAlways},
                                      {"RUNNING", kAlways}, {"DEMAND", 6},     {"SHARE", 7}, {"MINIMUM", 3},
                                      {"MAXIMUM", 4},       {"PREEMPTS IN", 1}};
    std::vector<Words> rows;
    for (const View::Group& group : view.groups) {
      AddGroupRow(group, false, view.now, &rows);
      AddGroupRow(group, true, view.now, &rows);
    }
    text += "\n" + LayOut(columns, rows, width);
  }
  text += MoreOf(view.more_groups);
  if (!view.deadlines.empty()) {
    std::vector<Words> rows;
    for (const View::Deadline& deadline : view.deadlines) {
      rows.push_back({ToText(deadline.job), FormatDuration(deadline.at - view.now), FormatDuration(deadline.slack)});
    }
    text += "\n" + LayOut({{"JOB"}, {"DEADLINE IN"}, {"SLACK"}}, rows, width);
  }
  if (!view.waits.empty()) {
    const std::vector<Column> columns{{"JOB"},    {"NAME", 4, 8}, {"POOL", 3, 8},      {"WAITS FOR", 5},
                                      {"HAS", 2}, {"WANTS", 1},   {"WHY", kAlways, 50}};
    std::vector<Words> rows;
    for (const View::Wait& wait : view.waits) {
      rows.push_back({ToText(wait.job), wait.name, wait.pool, WhatItWaitsFor(wait), std::to_string(wait.running),
                      std::to_string(wait.pending), wait.reason});
    }
    text += "\n" + LayOut(columns, rows, width);
  }
  return text + MoreOf(view.more_waits);
}

std::vector<Verb> SchedulerVerbs() {
  return {
      {"list", "the available schedulers", ListSchedulers, {}},
      {"show", "the one in use, its pools, and why jobs wait", ShowScheduler, {}},
      {"set", "change it", SetScheduler, {}},
      {"check", "say what is wrong with a scheduler file", CheckFile, {}},
      {"forget", "forget what earlier runs of programs showed", ForgetPrograms, {}},
  };
}

}  // namespace millrace::cli
