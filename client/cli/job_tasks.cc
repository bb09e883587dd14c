// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/documents.h"
#include "client/cli/job_details.h"
#include "client/cli/job_list.h"
#include "client/cli/listing.h"
#include "client/cli/verbs.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;
using Json = nlohmann::ordered_json;

Json ToJson(const AttemptStatus& attempt) {
  Json json{{"attempt", ToText(attempt.attempt)}, {"state", ToString(attempt.state)}, {"node", attempt.node.value}};
  console::SetBytes(json, "host", attempt.host);
  json["launched_at"] = console::Seconds(attempt.launched);
  json["ended_at"] = console::InstantOrNull(attempt.ended);
  console::SetBytes(json, "reason", attempt.reason);
  return json;
}

Micros Took(const AttemptStatus& attempt, Micros now) {
  return std::max<Micros>(0, (attempt.ended == 0 ? now : attempt.ended) - attempt.launched);
}

Listing<AttemptStatus> Fields(Micros now) {
  using Status = const AttemptStatus&;
  constexpr int kAlways = console::kAlwaysShown;
  const auto number = [](Micros value) { return SortKey(static_cast<double>(value), ""); };
  return Listing<AttemptStatus>({
      {"attempt",
       {"ATTEMPT", kAlways},
       [](Status one) { return ToText(one.attempt); },
       [number](Status one) { return number(one.launched); }},
      {"state", {"STATE", kAlways}, [](Status one) { return std::string(ToString(one.state)); }, {}},
      {"node",
       {"NODE", 3},
       [](Status one) { return std::to_string(one.node.value); },
       [](Status one) { return SortKey(one.node.value, ""); }},
      {"host", {"HOST", 4, 12}, [](Status one) { return one.host; }, {}},
      {"launched",
       {"LAUNCHED (UTC)", 2},
       [](Status one) { return console::FormatTime(one.launched); },
       [number](Status one) { return number(one.launched); }},
      {"took",
       {"TOOK", kAlways},
       [now](Status one) { return FormatDuration(Took(one, now)); },
       [number, now](Status one) { return number(Took(one, now)); }},
      {"reason", {"REASON", kAlways, 20}, [](Status one) { return one.reason; }, {}},
  });
}

Status Print(const std::vector<AttemptStatus>& attempts, bool json, const Listing<AttemptStatus>& fields,
             const ListingOptions& listing, const console::Console& console) {
  Printer out(console);
  if (json) {
    console::JsonList list(out);
    for (const AttemptStatus& attempt : attempts) list.Add(ToJson(attempt));
    list.Close();
    return out.Flush();
  }
  out << fields.Text(listing, attempts, console);
  if (listing.totals || console.out_is_terminal) {
    std::vector<std::string> states;
    for (const AttemptStatus& attempt : attempts) states.emplace_back(ToString(attempt.state));
    out << Counted(attempts.size(), "attempt") << (attempts.empty() ? "" : ": ")
        << CountsInWords(states, {"running", "succeeded", "failed", "killed", "lost", "preempted"}) << "\n";
  }
  return out.Flush();
}

Status CheckState(const std::string& state) {
  using enum AttemptState;
  std::string all;
  for (const AttemptState known : {kRunning, kSucceeded, kFailed, kKilled, kLost, kPreempted}) {
    if (state.empty() || state == ToString(known)) return Status::Ok();
    all += (all.empty() ? "" : ", ") + std::string(ToString(known));
  }
  return Invalid("--state " + Quote(state) + " is not one of " + all);
}

}  // namespace

Json AttemptDocument(const AttemptStatus& attempt) { return ToJson(attempt); }

int ListTasks(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "job tasks", "JOB",
      "Lists the attempts of a job's tasks in the order of their launches: where each ran, since "
      "when, for how long, and why it failed. Times are UTC, by the master's clock.");
  arguments.Example("12 --state failed");
  arguments.Example("12 --slowest | head");
  std::string state;
  bool json = false, slowest = false;
  ListingOptions listing;
  listing.Declare(arguments, "attempt, state, node, host, launched, took, reason");
  arguments.Flag("--json", &json, "print one JSON array");
  arguments.Flag("--slowest", &slowest, "the slowest first");
  arguments.Text("--state", &state, "only attempts in this state: running, succeeded, failed, killed, lost, preempted");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
  if (!job.ok()) return invocation.Fail("job tasks", job.status(), kWrongUsage);
  Status checked = CheckState(state);
  if (checked.ok()) checked = Fields(0).Check(listing);
  if (!checked.ok()) return invocation.Fail("job tasks", checked, kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job tasks", files.status(), kUnreachable);
  job::JobClient client(**files);
  Result<std::vector<AttemptStatus>> attempts = client.Attempts(*job);
  if (!attempts.ok()) return invocation.Fail("job tasks", attempts.status());
  if (attempts->empty())
    SayWhyNothing(invocation, client, *job, "job tasks", "no attempt of " + ToText(*job) + " was launched");
  std::erase_if(*attempts,
                [&](const AttemptStatus& attempt) { return !state.empty() && ToString(attempt.state) != state; });
  const bool live = std::ranges::any_of(*attempts, [](const AttemptStatus& attempt) { return attempt.ended == 0; });
  const Listing<AttemptStatus> fields = Fields(live ? MasterTime(client) : 0);
  if (slowest) {
    listing.sort = "took";
    listing.reverse = true;
  }
  fields.Sort(listing, &*attempts);
  const Status printed = Print(*attempts, json, fields, listing, invocation.console);
  return printed.ok() ? kDone : invocation.Fail("job tasks", printed);
}

}  // namespace millrace::cli
