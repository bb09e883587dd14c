// SPDX-License-Identifier: Apache-2.0
#include "client/cli/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/console/json_output.h"
#include "base/console/progress.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::cli {
namespace {

// Rounds down, so that 100 means that all is done.
int PercentOf(double fraction) { return static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100 + 1e-6); }

std::string PercentText(double fraction) { return std::to_string(PercentOf(fraction)) + "%"; }

// Returns the rate at which input was read, in units of 10^6 bytes, as disks and networks are sold.
std::string Megabytes(std::uint64_t bytes, Micros time) {
  if (time <= 0) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f MB/s", static_cast<double>(bytes) / static_cast<double>(time));
  return text;
}

nlohmann::ordered_json ToJson(const Phase& phase) {
  return {{"total", phase.total}, {"running", phase.running}, {"done", phase.done}, {"fraction", phase.fraction}};
}

template <class T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

double OverallFraction(const JobStatus& status) {
  if (status.reduces.total == 0) return status.maps.fraction;
  return (status.maps.fraction + status.copy_fraction + status.reduces.fraction) / 3;
}

std::optional<Micros> TimeLeft::Update(double fraction, Micros now) {
  constexpr double kPart = 0.05, kFinest = 0.002, kRounding = 1e-9;
  constexpr Micros kEnoughTime = 3 * kSecond;
  constexpr double kAgree = 1.5;
  if (seen_.empty() || fraction < seen_.back().fraction) {  // work was lost: another pace begins
    seen_.clear();
    begin_ = now;
  }
  // Returns what is left by the pace of the last `part` of the work, in microseconds; 0 if less was seen.
  const auto left = [&](double part) {
    const auto since = std::ranges::upper_bound(seen_, fraction - part + kRounding, {}, &Seen::fraction);
    if (since == seen_.begin()) return 0.0;
    const Seen& last = *std::prev(since);
    return static_cast<double>(now - last.at) * (1 - fraction) / (fraction - last.fraction);
  };
  const double lately = left(kPart), before = left(2 * kPart);
  if (seen_.empty() || fraction - seen_.back().fraction >= kFinest) seen_.push_back({now, fraction});
  while (seen_.size() > 1 && seen_[1].fraction <= fraction - 2 * kPart) seen_.erase(seen_.begin());
  const bool agree = lately > 0 && before > 0 && lately < before * kAgree && before < lately * kAgree;
  return agree && now - begin_ >= kEnoughTime ? std::optional(static_cast<Micros>(before)) : std::nullopt;
}

std::string BarLine(const JobStatus& status, const Pace& pace, std::size_t width) {
  constexpr std::size_t kShortestBar = 10;
  const std::string begin = ToText(status.job) + " ";
  std::string end = " map " + PercentText(status.maps.fraction);
  if (status.reduces.total > 0) {
    end += "  copy " + PercentText(status.copy_fraction) + "  reduce " + PercentText(status.reduces.fraction);
  }
  if (pace.bytes >= console::kTellingBytes) end += "  " + console::FormatRate(pace.bytes, pace.time);
  if (pace.left) end += "  " + FormatDuration(*pace.left) + " left";
  const std::size_t others = begin.size() + end.size() + 1;
  return begin + console::Bar(OverallFraction(status), std::max(width - std::min(width, others), kShortestBar)) + end;
}

std::string PlainProgress::Update(const JobStatus& status) {
  const int map = PercentOf(status.maps.fraction), copy = PercentOf(status.copy_fraction),
            reduce = PercentOf(status.reduces.fraction);
  const auto moved = [](int now, int said) { return std::abs(now - said) >= 10; };
  if (!moved(map, map_) && !moved(copy, copy_) && !moved(reduce, reduce_)) return {};
  map_ = map;
  copy_ = copy;
  reduce_ = reduce;
  std::string line = ToText(status.job) + ": map " + std::to_string(map) + "%";
  if (status.reduces.total > 0) line += ", copy " + std::to_string(copy) + "%, reduce " + std::to_string(reduce) + "%";
  return line;
}

namespace {

std::string LeftOutMaps(const JobStatus& status) {
  if (status.maps_left_out == 0) return {};
  std::string text = "  left out " + std::to_string(status.maps_left_out) + " of " + Counted(status.maps.total, "map") +
                     ", which failed:\n";
  for (const LeftOutMap& map : status.left_out)
    text += "    map " + std::to_string(map.map) + ": " + Printable(map.input) + "\n";
  if (status.left_out.size() < status.maps_left_out)
    text += "    and " + std::to_string(status.maps_left_out - status.left_out.size()) + " more\n";
  return text;
}

std::string LeftOutRecords(const JobStatus& status) {
  if (status.records_left_out == 0) return {};
  std::string text = "  left out " + Counted(status.records_left_out, "record") + ", at which maps failed:\n";
  for (const LeftOutRecord& record : status.left_out_records) {
    const std::string offset = std::to_string(record.offset);
    text += "    map " + std::to_string(record.map) + ": " +
            (record.path.empty() ? "number " + offset : Printable(record.path) + ", byte " + offset) + "\n";
  }
  if (status.left_out_records.size() < status.records_left_out)
    text += "    and " + std::to_string(status.records_left_out - status.left_out_records.size()) + " more\n";
  return text;
}

}  // namespace

std::string LeftOutLines(const JobStatus& status) { return LeftOutMaps(status) + LeftOutRecords(status); }

namespace {

// Returns "10 (launched 8 at their data, ...)", of a job that did not succeed "3 of 10 done (launched ...)".
std::string MapsText(const JobStatus& status) {
  const auto count = [&status](const Phase& phase) {
    return status.state == JobState::kSucceeded
               ? std::to_string(phase.total)
               : std::to_string(phase.done) + " of " + std::to_string(phase.total) + " done";
  };
  std::string text = "maps " + count(status.maps);
  if (status.input_bytes > 0 || status.bytes_read > 0) {
    text += " (launched " + std::to_string(status.maps_at[0]) + " at their data, " + std::to_string(status.maps_at[1]) +
            " in its rack, " + std::to_string(status.maps_at[2]) + " in its datacenter, " +
            std::to_string(status.maps_at[3]) + " elsewhere)";
  }
  return text + ", reduces " + count(status.reduces);
}

// Returns the counts of attempts that did not simply succeed: "failed 2, killed 1"; empty if there are none.
std::string AttemptsText(const JobStatus& status) {
  const std::pair<const char*, std::uint32_t> attempts[] = {{"failed", status.failed_attempts},
                                                            {"killed", status.killed_attempts},
                                                            {"preempted", status.preempted_attempts},
                                                            {"speculative", status.speculative_attempts}};
  std::string counts;
  for (const auto& [name, count] : attempts) {
    if (count > 0) counts += (counts.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  }
  return counts;
}

}  // namespace

Micros TimeOf(const JobStatus& status) { return status.ended > status.submitted ? status.ended - status.submitted : 0; }

std::string Figures(const JobStatus& status) {
  std::string text = "  " + MapsText(status) + "\n";
  const std::string attempts = AttemptsText(status);
  if (!attempts.empty()) text += "  attempts " + attempts + "\n";
  text += LeftOutLines(status);
  text += "  read " + FormatBytes(status.bytes_read) + ", shuffled " + FormatBytes(status.bytes_shuffled) +
          ", written " + FormatBytes(status.bytes_written) + "\n";
  if (status.state == JobState::kSucceeded && status.input_bytes >= console::kTellingBytes)
    text += "  " + Megabytes(status.input_bytes, TimeOf(status)) + " of input\n";
  if (status.deadline != 0 && status.ended > status.deadline)
    text += "  ended " + FormatDuration(status.ended - status.deadline) + " after its deadline\n";
  return text;
}

std::string Summary(const JobStatus& status) {
  return ToText(status.job) + " " + std::string(ToString(status.state)) + " in " + FormatDuration(TimeOf(status)) +
         ": " + Quote(status.output) + "\n" + Figures(status);
}

std::string OwnCounterLines(const Counters& counters) {
  std::string text;
  for (const auto& [name, value] : counters) {
    if (name.first == kEngineCounters) continue;
    text += "  " + Printable(name.first) + " " + Printable(name.second) + " " + std::to_string(value) + "\n";
  }
  return text;
}

nlohmann::ordered_json ToJson(const Counters::value_type& counter) {
  nlohmann::ordered_json json;
  console::SetBytes(json, "group", counter.first.first);
  console::SetBytes(json, "name", counter.first.second);
  json["value"] = counter.second;
  return json;
}

nlohmann::ordered_json JobNumbers(const std::vector<JobId>& jobs) {
  auto numbers = nlohmann::ordered_json::array();
  for (const JobId job : jobs) numbers.push_back(job.value);
  return numbers;
}

namespace {

nlohmann::ordered_json NumbersOf(const std::vector<JobId>& jobs) {
  nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
  for (const JobId job : jobs) numbers.push_back(job.value);
  return numbers;
}

}  // namespace

nlohmann::ordered_json ToJson(const JobStatus& status) {
  nlohmann::ordered_json json{{"job", status.job.value}};
  console::SetBytes(json, "name", status.name);
  console::SetBytes(json, "owner", status.owner);
  json["state"] = ToString(status.state);
  console::SetBytes(json, "reason", status.reason);
  json["priority"] = job::PriorityName(status.priority);
  console::SetBytes(json, "pool", status.pool);
  json["deadline_at"] = console::InstantOrNull(status.deadline);
  console::SetBytes(json, "output", status.output);
  json["after"] = NumbersOf(status.after);
  json["waits_for"] = NumbersOf(status.waits_for);
  json["even_if_failed"] = status.even_if_failed;
  json["held"] = status.held;
  json["submitted_at"] = console::InstantOrNull(status.submitted);
  json["queued_at"] = console::InstantOrNull(status.queued);
  json["first_launched_at"] = console::InstantOrNull(status.first_launch);
  json["ended_at"] = console::InstantOrNull(status.ended);
  json["maps"] = ToJson(status.maps);
  json["reduces"] = ToJson(status.reduces);
  json["copy_fraction"] = status.copy_fraction;
  json["maps_launched"] = {{"node", status.maps_at[0]},
                           {"rack", status.maps_at[1]},
                           {"datacenter", status.maps_at[2]},
                           {"off", status.maps_at[3]}};
  json["failed_attempts"] = status.failed_attempts;
  json["killed_attempts"] = status.killed_attempts;
  json["preempted_attempts"] = status.preempted_attempts;
  json["speculative_attempts"] = status.speculative_attempts;
  json["maps_left_out"] = status.maps_left_out;
  json["left_out"] = nlohmann::ordered_json::array();
  for (const LeftOutMap& map : status.left_out) {
    nlohmann::ordered_json one{{"map", map.map}};
    console::SetBytes(one, "input", map.input);
    json["left_out"].push_back(std::move(one));
  }
  json["records_left_out"] = status.records_left_out;
  json["left_out_records"] = nlohmann::ordered_json::array();
  for (const LeftOutRecord& record : status.left_out_records) {
    nlohmann::ordered_json one{{"map", record.map}};
    console::SetBytes(one, "path", record.path);
    one["offset"] = record.offset;
    json["left_out_records"].push_back(std::move(one));
  }
  json["input_bytes"] = status.input_bytes;
  json["bytes_read"] = status.bytes_read;
  json["bytes_shuffled"] = status.bytes_shuffled;
  json["bytes_written"] = status.bytes_written;
  return json;
}

std::string WhatItWaitsFor(const job::SchedulerView::Wait& wait) {
  return wait.slot == "permit" ? "compute permits" : wait.slot + " slots";
}

nlohmann::ordered_json WaitToJson(const job::SchedulerView::Wait& wait) {
  return {{"job", wait.job.value},
          {"name", wait.name},
          {"pool", wait.pool},
          {"kind", wait.slot},
          {"running", wait.running},
          {"pending", wait.pending},
          {"cause", wait.cause},
          {"used", wait.used},
          {"of", wait.of},
          {"others", JobNumbers(wait.others)},
          {"other_count", OrNull(wait.other_count)},
          {"next", wait.next_tried == 0 ? nlohmann::ordered_json(nullptr)
                                        : nlohmann::ordered_json{{"running", wait.next_running},
                                                                 {"tried", wait.next_tried},
                                                                 {"to_it", wait.next_to_it}}},
          {"group", wait.group.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(wait.group)},
          {"group_used", wait.group_used},
          {"group_share", OrNull(wait.group_share)},
          {"since_at", console::Seconds(wait.since)},
          {"until_at", console::Seconds(wait.until)},
          {"reason", wait.reason}};
}

}  // namespace millrace::cli
