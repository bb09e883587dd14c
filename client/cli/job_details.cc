// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_details.h"

#include <algorithm>
#include <utility>

#include "base/console/console.h"
#include "base/text.h"
#include "client/cli/foretold.h"
#include "client/cli/report.h"

namespace millrace::cli {
namespace {

// A lost job is known by its number, and by what the audit log has of it.
std::string LostDetails(const JobStatus& status) {
  return ToText(status.job) + (status.name.empty() ? "" : " " + Quote(status.name)) +
         (status.owner.empty() ? "" : " of " + Printable(status.owner)) + ": lost, " + Printable(status.reason) + "\n" +
         (status.output.empty() ? "" : "  output " + Quote(status.output) + "\n");
}

std::string Details(const JobStatus& status) {
  if (status.state == JobState::kLost) return LostDetails(status);
  const bool ended = Ended(status.state);
  std::string text = ToText(status.job) + " " + Quote(status.name) + " of " + Printable(status.owner) + ": " +
                     std::string(ToString(status.state)) + (ended ? " in " + FormatDuration(TimeOf(status)) : "") +
                     (status.reason.empty() ? "" : ", " + Printable(status.reason)) + "\n";
  text += "  priority " + job::PriorityName(status.priority) +
          (status.pool.empty() ? "" : ", pool " + Quote(status.pool)) +
          (status.deadline == 0 ? "" : ", deadline " + console::FormatTime(status.deadline)) + ", output " +
          Quote(status.output) + "\n";
  text += "  submitted " + console::FormatTime(status.submitted) + ", first launch " +
          console::FormatTime(status.first_launch) + ", ended " + console::FormatTime(status.ended) +
          " (UTC, by the master's clock)\n";
  if (ended) return text + Figures(status);
  text += "  maps " + std::to_string(status.maps.done) + " of " + std::to_string(status.maps.total) + " done, " +
          std::to_string(status.maps.running) + " running; reduces " + std::to_string(status.reduces.done) + " of " +
          std::to_string(status.reduces.total) + " done, " + std::to_string(status.reduces.running) +
          " running, copied " + Percent(status.copy_fraction) + "\n";
  return text + LeftOutLines(status);
}

// Returns a line for each reason, with the slots that the job lacks for it. What a job waits for besides slots is its
// reason as a whole, and stands in the first line.
std::string LinesOfWaits(const JobStatus& status, const Waits& waits) {
  if (status.first_launch == 0 && !status.reason.empty()) return {};
  std::vector<std::pair<std::string, std::string>> lines;  // the reason, and for what it waits
  for (const job::SchedulerView::Wait& wait : waits) {
    const std::string slots = WhatItWaitsFor(wait) + " (has " + std::to_string(wait.running) + ", wants " +
                              std::to_string(wait.pending) + " more)";
    const auto same = std::ranges::find(lines, wait.reason, &std::pair<std::string, std::string>::first);
    if (same == lines.end()) {
      lines.emplace_back(wait.reason, slots);
    } else {
      same->second += " and " + slots;
    }
  }
  std::string text;
  for (const auto& [reason, slots] : lines) text += "  waits for " + slots + ": " + Printable(reason) + "\n";
  return text;
}

// What is unknown for one reason is told in one clause, without a reason if the first line has it.
std::string ForetoldOf(const JobStatus& status, const Sayings& sayings) {
  if (Ended(status.state)) return {};
  if (!sayings.problem.empty()) return "  when it ends is unknown: " + Printable(sayings.problem) + "\n";
  if (sayings.foretold.empty()) return {};
  const job::Foretold& foretold = sayings.foretold.front();
  const bool tells = foretold.end.at || (foretold.start && foretold.start->at);
  if (tells) return ForetoldLines(foretold);
  const bool told = status.first_launch == 0 && !status.reason.empty();
  const auto unknown = [told](const std::string& what, const std::string& why) {
    return "when it " + what + " is unknown" + (told ? "" : ": " + Printable(why));
  };
  const std::string& why = foretold.end.why;
  if (!foretold.start) return "  " + unknown("is done", why) + "\n";
  if (told || foretold.start->why == why) return "  " + unknown("starts and is done", why) + "\n";
  return "  " + unknown("starts", foretold.start->why) + "; " + unknown("is done", why) + "\n";
}

std::string Late(const JobStatus& status, Micros now) {
  if (status.deadline == 0 || Ended(status.state) || now <= status.deadline) return {};
  return "  its deadline was " + FormatDuration(now - status.deadline) + " ago\n";
}

}  // namespace

std::string JobDetails(const JobStatus& status, const Waits& waits, const Sayings& sayings, Micros now) {
  return Details(status) + Late(status, now) + LinesOfWaits(status, waits) + ForetoldOf(status, sayings);
}

std::string WhyNothingRan(const JobStatus& status) {
  if (status.first_launch != 0 || status.state == JobState::kRunning) return {};
  const std::string job = ToText(status.job);
  if (status.state == JobState::kWaiting)
    return "nothing of " + job + " has run: it " +
           (status.reason.empty() ? "waits for a slot" : Printable(status.reason));
  const std::string how = status.state == JobState::kKilled      ? "was killed"
                          : status.state == JobState::kSucceeded ? "had nothing to do"
                                                                 : std::string(ToString(status.state));
  return "nothing of " + job + " ran: it " + how + (status.reason.empty() ? "" : ": " + Printable(status.reason));
}

void SayWhyNothing(const Invocation& invocation, job::JobClient& client, JobId job, const std::string& what,
                   const std::string& otherwise) {
  const Result<JobStatus> status = client.GetStatus(job);
  const std::string why = status.ok() ? WhyNothingRan(*status) : "";
  console::SayLine(invocation.console, "millrace: " + what + ": " + (why.empty() ? otherwise : why));
}

}  // namespace millrace::cli
