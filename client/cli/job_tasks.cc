// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/verbs.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;
using Json = nlohmann::ordered_json;

Json ToJson(const AttemptStatus& attempt) {
  Json json{{"attempt", ToText(attempt.attempt)}, {"state", ToString(attempt.state)}, {"node", attempt.node.value}};
  console::SetBytes(json, "host", attempt.host);
  json["launched"] = attempt.launched;
  json["ended"] = attempt.ended == 0 ? Json(nullptr) : Json(attempt.ended);
  console::SetBytes(json, "reason", attempt.reason);
  return json;
}

Micros Took(const AttemptStatus& attempt, Micros now) {
  return std::max<Micros>(0, (attempt.ended == 0 ? now : attempt.ended) - attempt.launched);
}

Status Print(std::vector<AttemptStatus> attempts, bool json, bool slowest, Printer& out) {
  const Micros now = SystemClock().Now();
  if (slowest) {
    std::ranges::stable_sort(attempts, std::greater<>(), [now](const auto& attempt) { return Took(attempt, now); });
  }
  if (json) {
    console::JsonList list(out);
    for (const AttemptStatus& attempt : attempts) list.Add(ToJson(attempt));
    list.Close();
    return out.Flush();
  }
  std::vector<Words> rows{{"ATTEMPT", "STATE", "NODE", "HOST", "LAUNCHED", "TOOK", "REASON"}};
  for (const AttemptStatus& attempt : attempts) {
    rows.push_back({ToText(attempt.attempt), std::string(ToString(attempt.state)), std::to_string(attempt.node.value),
                    attempt.host, console::FormatTime(attempt.launched), FormatDuration(Took(attempt, now)),
                    attempt.reason});
  }
  out << FormatTable(rows);
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

int ListTasks(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "job tasks", "JOB",
      "Lists the attempts of a job's tasks in the order of their launches: where each ran, since "
      "when, for how long, and why it failed. Times are UTC.");
  arguments.Example("12 --state failed");
  arguments.Example("12 --slowest | head");
  std::string state;
  bool json = false, slowest = false;
  arguments.Flag("--json", &json, "print one JSON array");
  arguments.Flag("--slowest", &slowest, "the slowest first");
  arguments.Text("--state", &state, "only attempts in this state: running, succeeded, failed, killed, lost, preempted");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
  if (!job.ok()) return invocation.Fail("job tasks", job.status(), kWrongUsage);
  if (const Status checked = CheckState(state); !checked.ok())
    return invocation.Fail("job tasks", checked, kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job tasks", files.status(), kUnreachable);
  Result<std::vector<AttemptStatus>> attempts = job::JobClient(**files).Attempts(*job);
  if (!attempts.ok()) return invocation.Fail("job tasks", attempts.status());
  std::erase_if(*attempts,
                [&](const AttemptStatus& attempt) { return !state.empty() && ToString(attempt.state) != state; });
  Printer out(invocation.console);
  const Status printed = Print(*std::move(attempts), json, slowest, out);
  return printed.ok() ? kDone : invocation.Fail("job tasks", printed);
}

}  // namespace millrace::cli
