// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace::sim {
namespace {

// Sums over the jobs of a pool, of a class, or over all jobs.
struct Span {
  std::uint32_t jobs = 0, ended = 0;
  Micros first = std::numeric_limits<Micros>::max(), last = 0;
  double turnaround = 0;

  void Add(const JobRow& row) {
    ++jobs;
    first = std::min(first, row.submit);
    if (!row.Ended()) return;
    ++ended;
    last = std::max(last, row.end);
    turnaround += static_cast<double>(row.Turnaround());
  }
  [[nodiscard]] GroupRow Row() const {
    return {jobs, last > first ? last - first : 0, ended > 0 ? turnaround / ended : 0, ended};
  }
};

// Returns the least value that `share` of them do not exceed (nearest rank); 0 if there are none.
double Percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void SummariseTurnarounds(SimResult* result) {
  std::vector<double> turnarounds;
  for (const JobRow& row : result->jobs) {
    if (row.submitted && row.Ended()) turnarounds.push_back(static_cast<double>(row.Turnaround()));
  }
  std::sort(turnarounds.begin(), turnarounds.end());
  result->summary.turnaround_p50 = Percentile(turnarounds, 0.50);
  result->summary.turnaround_p95 = Percentile(turnarounds, 0.95);
  result->summary.turnaround_p99 = Percentile(turnarounds, 0.99);
}

void SummariseAttempts(SimResult* result) {
  Summary& summary = result->summary;
  double launched = 0, shuffled = 0, near = 0;
  for (const JobRow& row : result->jobs) {
    for (std::size_t level = 0; level < 4; ++level) {
      summary.maps_at[level] += row.maps_at[level];
      launched += row.maps_at[level];
      summary.bytes_at[level] += row.bytes_at[level];
    }
    shuffled += static_cast<double>(row.shuffle_bytes);
    near += static_cast<double>(row.shuffle_datacenter_bytes);
    summary.preempted += row.preempted, summary.speculative += row.speculative;
    summary.failed_attempts += row.failed, summary.killed_attempts += row.killed;
    summary.evictions += row.evicted;
  }
  summary.map_launches = static_cast<std::uint32_t>(launched);
  summary.shuffled = shuffled;
  for (double& share : summary.maps_at) share = launched > 0 ? share / launched : 0;
  summary.reduce_locality = shuffled > 0 ? near / shuffled : 1;
}

void SummariseSamples(SimResult* result) {
  double fairness = 0, distance = 0;
  std::uint32_t with_active = 0, with_maps = 0;
  for (const Sample& sample : result->samples) {
    if (sample.active > 0) fairness += sample.fairness, ++with_active;
    if (sample.running[TaskKind::kMap] > 0) distance += sample.distance, ++with_maps;
  }
  result->summary.active_samples = with_active;
  result->summary.map_samples = with_maps;
  if (with_active > 0) result->summary.fairness = fairness / with_active;
  if (with_maps > 0) result->summary.distance = distance / with_maps;
}

}  // namespace

const char* OutcomeName(const JobRow& row) {
  if (!row.submitted) return "not submitted";
  if (!row.Ended()) return "unfinished";
  switch (*row.outcome) {
    case sched::JobOutcome::kSucceeded:
      return "succeeded";
    case sched::JobOutcome::kFailed:
      return "failed";
    case sched::JobOutcome::kKilled:
      return "killed";
  }
  return "";
}

const char* AttemptEndName(AttemptEnd how) {
  constexpr const char* kNames[] = {"running", "succeeded", "failed", "killed", "lost", "preempted"};
  return kNames[static_cast<std::size_t>(how)];
}

void Summarise(SimResult* result) {
  Summary& summary = result->summary;
  Span all;
  std::map<std::string, Span> pools, groups;
  double wait = 0, slowdown = 0;
  std::uint32_t with_slowdown = 0, with_deadline = 0, late = 0;
  for (const JobRow& row : result->jobs) {
    if (!row.submitted) continue;
    all.Add(row);
    pools[row.pool].Add(row);
    if (!row.group.empty()) groups[row.group].Add(row);
    if (row.deadline > 0) ++with_deadline, late += row.Late() ? 1 : 0;
    if (!row.Ended()) continue;
    (*row.outcome == sched::JobOutcome::kSucceeded ? summary.succeeded : summary.failed) += 1;
    wait += static_cast<double>(row.Wait());
    if (row.alone <= 0) continue;
    ++with_slowdown;
    slowdown += row.Slowdown();
    summary.max_slowdown = std::max(summary.max_slowdown, row.Slowdown());
  }
  summary.jobs = all.jobs;
  summary.unfinished = all.jobs - all.ended;
  summary.makespan = all.Row().makespan;
  summary.mean_turnaround = all.Row().mean_turnaround;
  summary.mean_wait = all.ended > 0 ? wait / all.ended : 0;
  summary.mean_slowdown = with_slowdown > 0 ? slowdown / with_slowdown : 0;
  summary.with_deadline = with_deadline;
  summary.late = with_deadline > 0 ? static_cast<double>(late) / with_deadline : 0;
  for (const auto& [name, span] : pools) result->pools[name] = span.Row();
  for (const auto& [name, span] : groups) result->groups[name] = span.Row();
  SummariseTurnarounds(result);
  SummariseAttempts(result);
  SummariseSamples(result);
}

}  // namespace millrace::sim
