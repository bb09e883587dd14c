// SPDX-License-Identifier: Apache-2.0
#include "lab/forecast/coverage.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "schedulers/forecast/forecaster.h"
#include "schedulers/policies/make_scheduler.h"

namespace millrace::sim {
namespace {

class Watch final : public SimWatch {
 public:
  Watch(std::string scheduler, const CoverageOptions& options) : scheduler_(std::move(scheduler)), options_(options) {}

  void Decided(Micros now, const sched::Engine& engine, const std::vector<JobId>& arrived) override {
    if (arrived.empty()) return;
    const auto begin = std::chrono::steady_clock::now();
    const std::unique_ptr<sched::Engine> copy = engine.Clone();
    if (copy == nullptr) return;
    sched::PlayBounds bounds;
    bounds.events = options_.events;
    const sched::Played play = sched::PlayForward(*copy, now, forecaster_.times(), bounds);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++coverage_.plays;
    coverage_.events += play.events;
    coverage_.play_seconds += took;
    coverage_.longest_play = std::max(coverage_.longest_play, took);
    std::map<JobId, sched::JobFacts> facts;
    for (const sched::PlayedJob& job : play.jobs) {
      facts[job.job].program = sched::HashOf(engine.state().FindJob(job.job)->spec.program);
    }
    const auto statements = forecaster_.State(play, now, scheduler_, facts);
    const std::set<JobId> fresh(arrived.begin(), arrived.end());
    for (const sched::Statement& statement : statements) {
      if (fresh.contains(statement.job) && Counts(now)) at_arrival_[statement.job] = statement;
    }
    forecaster_.Note(statements, scheduler_, facts);
  }

  void Launched(Micros now, JobId job) override {
    if (!started_.insert(job).second) return;
    Judged(forecaster_.Started(job, now), now);
    const auto at = at_arrival_.find(job);
    if (at != at_arrival_.end() && at->second.start) Score(*at->second.start, at->second.made, now);
  }

  void Ended(const sched::JobState& job) override {
    Judged(forecaster_.Ended(job), job.progress.ended);
    const auto at = at_arrival_.find(job.progress.job);
    if (at != at_arrival_.end()) {
      if (job.progress.outcome == sched::JobOutcome::kSucceeded)
        Score(at->second.end, at->second.made, job.progress.ended);
      at_arrival_.erase(at);
    }
    started_.erase(job.progress.job);
    ++coverage_.jobs;
  }

  void SchedulerChanged() override {
    forecaster_.SchedulerChanged();
    for (const SchedulerChange& change : options_.simulation.changes) scheduler_ = change.to.name;
  }

  [[nodiscard]] Coverage Take() { return std::move(coverage_); }

 private:
  [[nodiscard]] bool Counts(Micros made) const {
    return coverage_.jobs >= options_.warm && made >= options_.from && (options_.until == 0 || made < options_.until);
  }

  static void AddTo(CoveredKind& kind, Micros predicted, Micros actual, const std::vector<sched::Interval>& intervals) {
    ++kind.stated;
    const double grain = sched::Intervals::kGrain;
    kind.errors.push_back(std::abs(static_cast<double>(predicted - actual)) / (static_cast<double>(actual) + grain));
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const auto [lo, hi, level] = intervals[i];
      kind.held[i] += lo <= actual && actual <= hi ? 1 : 0;
      kind.widths[i].push_back((static_cast<double>(hi) + grain) / (static_cast<double>(lo) + grain));
    }
  }

  void Score(const sched::Said& said, Micros made, Micros outcome) {
    CoveredKind& kind = coverage_.at_arrival[static_cast<std::size_t>(said.what)];
    if (!said.at || said.spread.intervals.empty()) {
      ++kind.unknown;
      return;
    }
    AddTo(kind, std::max<Micros>(*said.at - made, 0), outcome - made, said.spread.intervals);
  }

  // The statement was made as long before as it took to come true.
  void Judged(const std::vector<sched::ForetoldRecord>& judged, Micros now) {
    for (const sched::ForetoldRecord& record : judged) {
      if (!Counts(now - record.actual)) continue;
      CoveredKind& kind = coverage_.any_time[static_cast<std::size_t>(record.what)];
      if (!record.held[0]) {
        ++kind.unknown;
        continue;
      }
      ++kind.stated;
      const double off = static_cast<double>(record.predicted - record.actual);
      kind.errors.push_back(std::abs(off) / (static_cast<double>(record.actual) + sched::Intervals::kGrain));
      for (std::size_t i = 0; i < record.held.size(); ++i) kind.held[i] += *record.held[i] ? 1 : 0;
    }
  }

  std::string scheduler_;
  const CoverageOptions& options_;
  sched::Forecaster forecaster_;
  std::map<JobId, sched::Statement> at_arrival_;
  std::set<JobId> started_;
  Coverage coverage_;
};

void AddKind(const CoveredKind& from, CoveredKind* to) {
  to->stated += from.stated;
  to->unknown += from.unknown;
  to->errors.insert(to->errors.end(), from.errors.begin(), from.errors.end());
  for (std::size_t i = 0; i < from.held.size(); ++i) {
    to->held[i] += from.held[i];
    to->widths[i].insert(to->widths[i].end(), from.widths[i].begin(), from.widths[i].end());
  }
}

}  // namespace

Result<Coverage> MeasureCoverage(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
                                 const sched::Settings& settings, const CoverageOptions& options) {
  Watch watch(scheduler, options);
  SimOptions simulation = options.simulation;
  simulation.watch = &watch;
  std::string why;
  for (const SchedulerChange& change : simulation.changes) {
    if (sched::MakeScheduler(change.to, false, &why) == nullptr) return Invalid(why);
  }
  if (!simulation.changes.empty()) simulation.engine.make_policy = sched::SchedulerMaker(false);
  MILLRACE_ASSIGN(const SimResult result, Simulate(cluster, workload, scheduler, settings, simulation));
  (void)result;
  return watch.Take();
}

void AddCoverage(const Coverage& other, Coverage* to) {
  for (std::size_t i = 0; i < other.at_arrival.size(); ++i) {
    AddKind(other.at_arrival[i], &to->at_arrival[i]);
    AddKind(other.any_time[i], &to->any_time[i]);
  }
  to->jobs += other.jobs;
  to->plays += other.plays;
  to->events += other.events;
  to->play_seconds += other.play_seconds;
  to->longest_play = std::max(to->longest_play, other.longest_play);
}

}  // namespace millrace::sim
