// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_why.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/foretold.h"
#include "client/cli/job_list.h"
#include "client/cli/report.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;
using Kind = job::TriedChange::Kind;

constexpr Micros kWorthTelling = kSecond;
constexpr std::size_t kMostNamed = 3;

struct Gains {
  std::optional<Micros> start, end;  // how much earlier; below 0: later; nothing: unknown
};

Gains GainsOf(const job::Why& why, const job::TriedChange& change) {
  Gains gains;
  const bool waits = !why.job.start || *why.job.start >= why.made;
  if (waits && why.job.start && change.job.start) gains.start = *why.job.start - *change.job.start;
  if (why.job.end && change.job.end) gains.end = *why.job.end - *change.job.end;
  return gains;
}

std::string Named(const job::TriedChange& change) {
  const auto slots = [](std::uint32_t count, const char* kind) {
    return std::to_string(count) + " " + kind + (count == 1 ? " slot" : " slots");
  };
  switch (change.kind) {
    case Kind::kPriority:
      return "priority " + Printable(change.name);
    case Kind::kPool:
      return "--pool " + Printable(change.name);
    case Kind::kScheduler:
      return "scheduler " + Printable(change.name);
    case Kind::kNode:
      break;
  }
  if (change.map_slots + change.reduce_slots == 0) return "one node more";
  return "one node more (" + slots(change.map_slots, "map") + ", " + slots(change.reduce_slots, "reduce") + ")";
}

std::string Moved(const std::string& verb, Micros earlier) {
  return verb + " " + FormatDuration(std::max(earlier, -earlier)) + (earlier > 0 ? " earlier" : " later");
}

std::string GainText(const job::Why& why, const job::TriedChange& change) {
  const Gains gains = GainsOf(why, change);
  std::vector<std::string> parts;
  const auto add = [&](const std::string& verb, std::optional<Micros> gain, std::optional<Micros> before,
                       std::optional<Micros> after) {
    if (gain && (*gain >= kWorthTelling || *gain <= -kWorthTelling)) parts.push_back(Moved(verb, *gain));
    if (!before && after) parts.push_back(verb + " " + ClockTime(*after, why.made));
  };
  add("starts", gains.start, why.job.start, change.job.start);
  add("is done", gains.end, why.job.end, change.job.end);
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string PriceText(const job::TriedChange& change) {
  std::string text;
  for (std::size_t i = 0; i < change.later.size() && i < kMostNamed; ++i) {
    text += (i == 0 ? "; " : ", ") + ToText(change.later[i].job) + (i == 0 ? " is done " : " ") +
            FormatDuration(change.later[i].by) + (i == 0 ? " later" : "");
  }
  if (change.later_count == 0) text = "; no other job ends later";
  if (change.later_count > kMostNamed) {
    text += " and " + std::to_string(change.later_count - kMostNamed) + " more, " + FormatDuration(change.later_sum) +
            " in all";
  }
  if (change.unknown > 0) {
    text +=
        " (of " + std::to_string(change.unknown) + (change.unknown == 1 ? " other" : " others") + " that is unknown)";
  }
  return text;
}

std::string AheadText(const job::Why& why) {
  if (why.ahead_count == 0) return "";
  std::string text = "  ahead of it: ";
  for (std::size_t i = 0; i < why.ahead.size() && i < kMostNamed; ++i) {
    const job::PlayedJob& ahead = why.ahead[i];
    text += (i == 0 ? "" : ", ") + ToText(ahead.job) +
            (ahead.end ? " (done " + ClockTime(*ahead.end, why.made) + ")" : " (its end is unknown)");
  }
  const std::size_t named = std::min(why.ahead.size(), kMostNamed);
  if (why.ahead_count > named) text += " and " + std::to_string(why.ahead_count - named) + " more";
  return text + "\n";
}

// Tells when the job starts and ends as things stand, which is what the changes are compared with.
std::string StandText(const job::Why& why) {
  const auto time = [&](std::optional<Micros> at, const std::string& verb, const std::string& noun,
                        const std::string& reason) {
    return at ? verb + " " + ClockTime(*at, why.made) : "its " + noun + " is unknown: " + Printable(reason);
  };
  std::string text;
  if (!why.job.start || *why.job.start >= why.made)
    text = time(why.job.start, "starts", "start", why.job.why_no_start) + ", ";
  text = "  played forward, " + text + time(why.job.end, "is done", "end", why.job.why_no_end) + " (UTC)";
  const bool told = why.job.end || (why.job.start && *why.job.start >= why.made);
  return text + (told ? "; `millrace job status` corrects such times by how far off earlier ones were\n" : "\n");
}

Json SecondsOrNull(std::optional<Micros> time) { return time ? console::Seconds(*time) : Json(nullptr); }

Json PlayedToJson(const job::PlayedJob& job) {
  return {{"job", job.job.value}, {"start_at", SecondsOrNull(job.start)}, {"end_at", SecondsOrNull(job.end)}};
}

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kPriority:
      return "priority";
    case Kind::kPool:
      return "pool";
    case Kind::kNode:
      return "node";
    case Kind::kScheduler:
      break;
  }
  return "scheduler";
}

Json TriedToJson(const job::Why& why, const job::TriedChange& change) {
  const Gains gains = change.untried.empty() ? GainsOf(why, change) : Gains();
  const std::optional<bool> helps = Helps(why, change);
  Json json{{"kind", NameOf(change.kind)}, {"name", console::TextOrNull(change.name)}};
  json["untried"] = console::TextOrNull(change.untried);
  json["helps"] = helps ? Json(*helps) : Json(nullptr);
  json["start_at"] = SecondsOrNull(change.job.start);
  json["end_at"] = SecondsOrNull(change.job.end);
  json["starts_earlier_s"] = SecondsOrNull(gains.start);
  json["ends_earlier_s"] = SecondsOrNull(gains.end);
  json["map_slots"] = change.map_slots;
  json["reduce_slots"] = change.reduce_slots;
  json["later"] = Json::array();
  for (const auto& [job, by] : change.later)
    json["later"].push_back({{"job", job.value}, {"later_s", console::Seconds(by)}});
  json["later_count"] = change.later_count;
  json["later_sum_s"] = console::Seconds(change.later_sum);
  json["unknown"] = change.unknown;
  return json;
}

// Returns true if both are priorities and have the same effect on the job and on the others.
bool AlikePriorities(const job::TriedChange& one, const job::TriedChange& other) {
  const auto effect = [](const job::TriedChange& change) {
    return std::tie(change.kind, change.untried, change.job.start, change.job.end, change.later, change.later_count,
                    change.later_sum, change.unknown);
  };
  return one.kind == Kind::kPriority && effect(one) == effect(other);
}

// Returns the change that helps with its gain and its price, in a line. `alike` are higher priorities that do no more.
std::string HelpLine(const job::Why& why, const job::TriedChange& change, const std::string& alike) {
  return "    " + Named(change) + (alike.empty() ? "" : " (no more with " + alike + ")") + ": " +
         GainText(why, change) + PriceText(change) + "\n";
}

std::string WaitLines(const Waits& waits) {
  std::string text;
  for (const job::SchedulerView::Wait& wait : waits)
    text += "  waits for " + WhatItWaitsFor(wait) + ": " + Printable(wait.reason) + "\n";
  return text;
}

}  // namespace

std::optional<bool> Helps(const job::Why& why, const job::TriedChange& change) {
  if (!change.untried.empty()) return std::nullopt;
  const Gains gains = GainsOf(why, change);
  if (gains.end) return *gains.end >= kWorthTelling;
  if (gains.start) return *gains.start >= kWorthTelling;
  if ((!why.job.start && change.job.start) || (!why.job.end && change.job.end)) return true;
  return std::nullopt;
}

std::string WhyText(const job::Why& why) {
  if (!why.problem.empty()) return "  what would help cannot be tried: " + Printable(why.problem) + "\n";
  std::string text = AheadText(why) + StandText(why);
  std::string helps, no_earlier_end, no_earlier_start, not_known, untried;
  const auto list = [](std::string* names, const std::string& name) { *names += (names->empty() ? "" : ", ") + name; };
  const std::vector<job::TriedChange>& tried = why.tried;
  for (auto at = tried.begin(); at != tried.end(); ++at) {
    const job::TriedChange& change = *at;
    const std::optional<bool> does = Helps(why, change);
    const auto alike = [&change](const job::TriedChange& other) { return AlikePriorities(change, other); };
    if (!change.untried.empty()) {
      untried += "  not tried: " + Named(change) + ", since " + Printable(change.untried) + "\n";
    } else if (!does) {
      list(&not_known, Named(change));
    } else if (!*does) {
      const std::string gain = GainText(why, change);
      list(GainsOf(why, change).end ? &no_earlier_end : &no_earlier_start,
           Named(change) + (gain.empty() ? "" : " (" + gain + ")"));
    } else if (std::none_of(tried.begin(), at, alike)) {
      std::string higher;
      std::for_each(at + 1, tried.end(), [&](const job::TriedChange& other) {
        if (alike(other)) list(&higher, Printable(other.name));
      });
      helps += HelpLine(why, change, higher);
    }
  }
  if (!helps.empty()) text += "  what would help:\n" + helps;
  if (!no_earlier_end.empty()) text += "  would not end it earlier: " + no_earlier_end + "\n";
  if (!no_earlier_start.empty()) text += "  would not start it earlier: " + no_earlier_start + "\n";
  if (!not_known.empty()) text += "  nobody knows whether these would help: " + not_known + "\n";
  return text + untried;
}

void AddWhy(const job::Why& why, Json* json) {
  (*json)["made_at"] = why.made == 0 ? Json(nullptr) : console::Seconds(why.made);
  (*json)["problem"] = console::TextOrNull(why.problem);
  (*json)["start_at"] = SecondsOrNull(why.job.start);
  (*json)["end_at"] = SecondsOrNull(why.job.end);
  (*json)["why_no_start"] = console::TextOrNull(why.job.why_no_start);
  (*json)["why_no_end"] = console::TextOrNull(why.job.why_no_end);
  (*json)["ahead"] = Json::array();
  for (const job::PlayedJob& ahead : why.ahead) (*json)["ahead"].push_back(PlayedToJson(ahead));
  (*json)["ahead_count"] = why.ahead_count;
  (*json)["tried"] = Json::array();
  for (const job::TriedChange& change : why.tried) (*json)["tried"].push_back(TriedToJson(why, change));
}

int WhyJob(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "job why", "JOB",
      "Says why a job waits, which jobs are ahead of it, and what would help: a higher priority, another pool, one "
      "node more, another scheduler. Each is tried by playing the jobs forward, and comes with its price for other "
      "jobs. Nothing is changed.");
  arguments.Example("12 --under fair+delay");
  bool json = false;
  std::vector<std::string> under;
  arguments.Flag("--json", &json, "print one JSON object");
  arguments.List("--under", &under, "a scheduler to try, in place of those that the master chooses; may be repeated");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
  if (!job.ok()) return invocation.Fail("job why", job.status(), kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job why", files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<JobStatus> status = client.GetStatus(*job);
  if (!status.ok()) return invocation.Fail("job why", status.status());
  const Result<Waits> waits = Ended(status->state) ? Result<Waits>(Waits()) : client.ExplainWaits(*job);
  if (!waits.ok()) return invocation.Fail("job why", waits.status());
  const Result<job::Why> why = client.AskWhy(*job, under);
  if (!why.ok()) {
    const bool misused = why.status().code() == StatusCode::kInvalid;
    return invocation.Fail("job why", why.status(), misused ? kWrongUsage : kFailed);
  }
  console::Printer out(invocation.console);
  if (json) {
    Json whole = WithWaits(*status, *waits);
    AddWhy(*why, &whole);
    out << console::Dump(whole) + "\n";
  } else {
    out << ToText(*job) + " " + Quote(status->name) + " of " + Printable(status->owner) + ": " +
               std::string(ToString(status->state)) + (status->reason.empty() ? "" : ", " + Printable(status->reason)) +
               "\n" + WaitLines(*waits) + WhyText(*why);
  }
  return kDone;
}

}  // namespace millrace::cli
