// SPDX-License-Identifier: Apache-2.0
#include "client/ui/timeline_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/console/json_output.h"
#include "client/cli/history_json.h"

namespace millrace::ui {
namespace {

using Json = nlohmann::ordered_json;
using console::InstantOrNull;
using console::Seconds;

// A row is an array, since there are many: its fields stand in "columns".
Json RowOf(const AttemptTrack& attempt) {
  const TaskId& task = attempt.attempt.task;
  return Json::array({task.job.value, task.reduce() ? "r" : "m", task.index, attempt.attempt.number, attempt.node.value,
                      Seconds(attempt.launched), InstantOrNull(attempt.copied), InstantOrNull(attempt.computing),
                      InstantOrNull(attempt.ended), ToString(attempt.state), attempt.second});
}

double QuantileOf(const std::vector<Micros>& sorted, double at) {
  const double place = at * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double rest = place - static_cast<double>(below);
  return static_cast<double>(sorted[below]) * (1 - rest) + static_cast<double>(sorted[above]) * rest;
}

double InSeconds(double micros) { return std::round(micros) / 1e6; }

// The buckets of a histogram are as wide as each other, from 0 to the longest.
Json TimesJson(std::vector<Micros> times) {
  constexpr std::size_t kBuckets = 24;
  if (times.empty()) return nullptr;
  std::ranges::sort(times);
  double sum = 0;
  for (const Micros time : times) sum += static_cast<double>(time);
  Json buckets = Json::array();
  std::vector<std::size_t> counts(kBuckets);
  const double width = std::max<double>(1, static_cast<double>(times.back()) / kBuckets);
  for (const Micros time : times)
    ++counts[std::min(kBuckets - 1, static_cast<std::size_t>(static_cast<double>(time) / width))];
  for (std::size_t i = 0; i < kBuckets; ++i) buckets.push_back(counts[i]);
  return {{"mean_s", InSeconds(sum / static_cast<double>(times.size()))},
          {"least_s", Seconds(times.front())},
          {"p25_s", InSeconds(QuantileOf(times, 0.25))},
          {"median_s", InSeconds(QuantileOf(times, 0.5))},
          {"p75_s", InSeconds(QuantileOf(times, 0.75))},
          {"p95_s", InSeconds(QuantileOf(times, 0.95))},
          {"most_s", Seconds(times.back())},
          {"bucket_s", InSeconds(width)},
          {"buckets", std::move(buckets)}};
}

// The phases of an attempt until `now`.
struct Phases {
  Micros copy = 0, wait = 0, compute = 0;
};

Phases PhasesOf(const AttemptTrack& attempt, Micros now) {
  const Micros end = std::max(attempt.ended == 0 ? now : attempt.ended, attempt.launched);
  if (!attempt.attempt.task.reduce()) return {0, 0, end - attempt.launched};
  const Micros copied = attempt.copied == 0 ? end : std::clamp(attempt.copied, attempt.launched, end);
  const Micros computing = attempt.computing == 0 ? end : std::clamp(attempt.computing, copied, end);
  return {copied - attempt.launched, computing - copied, end - computing};
}

Json KindJson(const JobTrack& job, TaskKind kind, std::size_t tasks) {
  std::map<std::string, std::size_t> states;
  std::vector<Micros> took;
  std::uint64_t bytes = 0, most_bytes = 0;
  std::size_t attempts = 0, second = 0;
  for (const AttemptTrack& attempt : job.attempts) {
    if (attempt.attempt.task.kind != kind) continue;
    ++attempts;
    second += attempt.second ? 1 : 0;
    ++states[std::string(ToString(attempt.state))];
    bytes += attempt.input_bytes;
    most_bytes = std::max(most_bytes, attempt.input_bytes);
    if (attempt.state == AttemptState::kSucceeded) took.push_back(attempt.ended - attempt.launched);
  }
  Json json{{"tasks", tasks}, {"attempts", attempts}, {"second_attempts", second}};
  for (const AttemptState state : {AttemptState::kRunning, AttemptState::kSucceeded, AttemptState::kFailed,
                                   AttemptState::kKilled, AttemptState::kLost, AttemptState::kPreempted})
    json[std::string(ToString(state))] = states[std::string(ToString(state))];
  json["input_bytes"] = bytes;
  json["largest_input_bytes"] = most_bytes;
  json["took"] = TimesJson(std::move(took));
  return json;
}

struct NodeFigures {
  std::size_t attempts = 0, failed = 0;
  std::vector<Micros> maps, reduces;  // times of those that succeeded
};

Json MedianOrNull(std::vector<Micros>& times) {
  if (times.empty()) return nullptr;
  std::ranges::sort(times);
  return InSeconds(QuantileOf(times, 0.5));
}

Json NodesJson(const JobTrack& job) {
  std::map<NodeId, NodeFigures> nodes;
  for (const AttemptTrack& attempt : job.attempts) {
    NodeFigures& node = nodes[attempt.node];
    ++node.attempts;
    if (attempt.state == AttemptState::kFailed) ++node.failed;
    if (attempt.state == AttemptState::kSucceeded)
      (attempt.attempt.task.reduce() ? node.reduces : node.maps).push_back(attempt.ended - attempt.launched);
  }
  Json list = Json::array();
  for (auto& [id, node] : nodes) {
    list.push_back({{"node", id.value},
                    {"attempts", node.attempts},
                    {"failed", node.failed},
                    {"maps", node.maps.size()},
                    {"map_median_s", MedianOrNull(node.maps)},
                    {"reduces", node.reduces.size()},
                    {"reduce_median_s", MedianOrNull(node.reduces)}});
  }
  return list;
}

// The reduces, the longest first.
Json ReducesJson(const JobTrack& job, Micros now) {
  constexpr std::size_t kMost = 200;
  std::vector<const AttemptTrack*> reduces;
  for (const AttemptTrack& attempt : job.attempts) {
    if (attempt.attempt.task.reduce() &&
        (attempt.state == AttemptState::kSucceeded || attempt.state == AttemptState::kRunning))
      reduces.push_back(&attempt);
  }
  const auto took = [now](const AttemptTrack* attempt) {
    return (attempt->ended == 0 ? now : attempt->ended) - attempt->launched;
  };
  std::ranges::stable_sort(reduces, [&](const auto* a, const auto* b) { return took(a) > took(b); });
  Json list = Json::array();
  for (const AttemptTrack* attempt : reduces | std::views::take(kMost)) {
    const Phases phases = PhasesOf(*attempt, now);
    list.push_back({{"attempt", ToText(attempt->attempt)},
                    {"state", ToString(attempt->state)},
                    {"node", attempt->node.value},
                    {"copy_s", Seconds(phases.copy)},
                    {"wait_s", Seconds(phases.wait)},
                    {"compute_s", Seconds(phases.compute)}});
  }
  return list;
}

// Where the time of the job went. The parts of its slots' time add up to `slots_s`.
Json TimeJson(const JobTrack& job, Micros now) {
  Micros first = 0, last_map = 0;
  double maps = 0, copy = 0, wait = 0, compute = 0, wasted = 0, cpu = 0;  // sums of times that a journal may invent
  for (const AttemptTrack& attempt : job.attempts) {
    if (first == 0 || attempt.launched < first) first = attempt.launched;
    const Phases phases = PhasesOf(attempt, now);
    const auto own = [](Micros time) { return static_cast<double>(time); };
    cpu += own(attempt.cpu);
    if (attempt.state != AttemptState::kSucceeded && attempt.state != AttemptState::kRunning) {
      wasted += own(phases.copy) + own(phases.wait) + own(phases.compute);
      continue;
    }
    if (!attempt.attempt.task.reduce()) last_map = std::max(last_map, attempt.ended == 0 ? now : attempt.ended);
    maps += attempt.attempt.task.reduce() ? 0 : own(phases.compute);
    copy += own(phases.copy);
    wait += own(phases.wait);
    compute += attempt.attempt.task.reduce() ? own(phases.compute) : 0;
  }
  const Micros end = job.ended == 0 ? now : job.ended;
  return {{"waited_s", Seconds(std::max<Micros>(0, (first == 0 ? end : first) - job.submitted))},
          {"until_last_map_s", first == 0 || last_map == 0 ? Json() : Seconds(last_map - first)},
          {"after_last_map_s", first == 0 ? Json() : Seconds(std::max<Micros>(0, end - std::max(last_map, first)))},
          {"slots_s", InSeconds(maps + copy + wait + compute + wasted)},
          {"map_s", InSeconds(maps)},
          {"copy_s", InSeconds(copy)},
          {"wait_s", InSeconds(wait)},
          {"compute_s", InSeconds(compute)},
          {"wasted_s", InSeconds(wasted)},
          {"cpu_s", InSeconds(cpu)}};
}

// How many attempts ran on each node in each of some equal parts of the time from `from` to `now`, in the mean.
Json BusyJson(const std::vector<const AttemptTrack*>& attempts, Micros from, Micros now) {
  constexpr std::size_t kParts = 240;
  Micros first = now;
  for (const AttemptTrack* attempt : attempts) first = std::min(first, attempt->launched);
  first = std::max(first, from);
  const double width = std::max(1.0, static_cast<double>(now - first) / kParts);
  std::map<NodeId, PerKind<std::vector<double>>> nodes;
  for (const AttemptTrack* attempt : attempts) {
    std::vector<double>& parts = nodes[attempt->node][attempt->attempt.task.kind];
    parts.resize(kParts);
    const double begin = std::max(0.0, static_cast<double>(attempt->launched - first) / width);
    const double end =
        std::min<double>(kParts, static_cast<double>((attempt->ended == 0 ? now : attempt->ended) - first) / width);
    for (auto part = static_cast<std::size_t>(begin); part < kParts && static_cast<double>(part) < end; ++part) {
      const auto at = static_cast<double>(part);
      parts[part] += std::min(end, at + 1) - std::max(begin, at);
    }
  }
  const auto rounded = [](const std::vector<double>& parts) {
    Json list = Json::array();
    for (const double part : parts) list.push_back(std::round(part * 100) / 100);
    return list;
  };
  Json list = Json::array();
  for (const auto& [node, kinds] : nodes) {
    list.push_back({{"node", node.value},
                    {"maps", rounded(kinds[TaskKind::kMap])},
                    {"reduces", rounded(kinds[TaskKind::kReduce])}});
  }
  return {{"from_at", Seconds(first)}, {"part_s", InSeconds(width)}, {"nodes", std::move(list)}};
}

}  // namespace

Json StreamDocument(const Timeline& timeline, std::optional<JobId> job, std::uint64_t since, Micros from, Micros now,
                    std::size_t most) {
  std::vector<const AttemptTrack*> chosen;
  Json jobs = Json::array();
  for (const auto& [id, track] : timeline.jobs()) {
    if (job && id != *job) continue;
    const std::size_t before = chosen.size();
    for (const AttemptTrack& attempt : track.attempts) {
      if (attempt.version > since && (attempt.ended == 0 || attempt.ended >= from)) chosen.push_back(&attempt);
    }
    if (chosen.size() == before) continue;
    Json one{{"job", id.value}};
    console::SetBytes(one, "name", track.name);
    console::SetBytes(one, "pool", track.pool);
    jobs.push_back(std::move(one));
  }
  const std::size_t left_out = chosen.size() > most ? chosen.size() - most : 0;
  Json busy;
  if (left_out > 0) {
    if (job && since == 0) busy = BusyJson(chosen, from, now);
    std::ranges::nth_element(chosen, chosen.begin() + static_cast<std::ptrdiff_t>(left_out),
                             [](const auto* a, const auto* b) { return a->launched < b->launched; });
    chosen.erase(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(left_out));
  }
  Json rows = Json::array();
  for (const AttemptTrack* attempt : chosen) rows.push_back(RowOf(*attempt));
  return {{"version", timeline.version()},
          {"left_out", left_out},
          {"jobs", std::move(jobs)},
          {"columns",
           {"job", "kind", "task", "number", "node", "launched_at", "copied_at", "computing_at", "ended_at", "state",
            "second"}},
          {"attempts", std::move(rows)},
          {"busy", std::move(busy)}};
}

Json SummaryDocument(const JobTrack& job, Micros now) {
  Json json{{"job", job.job.value}};
  json["maps"] = KindJson(job, TaskKind::kMap, job.replicas.size());
  json["reduces"] = KindJson(job, TaskKind::kReduce, job.reduces);
  json["nodes"] = NodesJson(job);
  json["longest_reduces"] = ReducesJson(job, now);
  json["time"] = TimeJson(job, now);
  return json;
}

Json DecisionsDocument(const Timeline& timeline, std::size_t most, bool launches) {
  std::map<std::uint64_t, const Decision*> all;
  for (const auto& [number, decision] : timeline.decisions()) all[number] = &decision;
  if (launches) {
    for (const auto& [number, decision] : timeline.launches()) all[number] = &decision;
  }
  Json list = Json::array();
  for (const auto& [number, decision] : std::views::reverse(all) | std::views::take(most)) {
    Json one = cli::HistoryJson(number, decision->line);
    console::SetBytes(one, "why", decision->why);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace millrace::ui
