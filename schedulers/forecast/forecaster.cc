// SPDX-License-Identifier: Apache-2.0
#include "schedulers/forecast/forecaster.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace millrace::sched {
namespace {

// Returns a number that depends on all bits of its argument (the finaliser of SplitMix64).
std::uint64_t Mixed(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

std::uint64_t ProgramOf(const std::map<JobId, JobFacts>& facts, JobId job) {
  const auto at = facts.find(job);
  return at == facts.end() ? 0 : at->second.program;
}

// No job ends before it starts, though the errors of both are learnt apart, and either may be the one that is wrong. So
// where two intervals contradict each other the one that says too much is widened: it holds no less often. That it may
// hold too often is made good by the levels (intervals.h), which learn from the statements as they were made.
void PutAfter(Spread* start, Spread* end) {
  end->likely = std::max(end->likely, start->likely);
  for (Interval& interval : end->intervals) interval.hi = std::max(interval.hi, end->likely);
  for (std::size_t i = 0; i < std::min(start->intervals.size(), end->intervals.size()); ++i) {
    Interval &of_start = start->intervals[i], &of_end = end->intervals[i];
    of_end.hi = std::max(of_end.hi, of_start.hi);
    of_start.lo = std::min(of_start.lo, of_end.lo);
  }
}

}  // namespace

std::vector<Statement> Forecaster::State(const Played& play, Micros made, std::string_view scheduler,
                                         const std::map<JobId, JobFacts>& facts) const {
  const std::uint64_t under = HashOf(scheduler);
  std::vector<Statement> statements;
  for (const PlayedJob& job : play.jobs) {
    const std::uint64_t program = ProgramOf(facts, job.job);
    const auto say = [&](Foretold what, std::optional<Micros> at, Unforeseen why) {
      Said said{at, why, what, {}};
      if (!at) return said;
      ForetoldRecord asked;
      asked.what = what;
      asked.predicted = std::max<Micros>(*at - made, 0);
      asked.program = program;
      asked.scheduler = under;
      asked.first = !open_.contains({job.job, what});
      said.spread = intervals_.Around(asked);
      return said;
    };
    Statement& statement = statements.emplace_back();
    statement.job = job.job;
    statement.made = made;
    if (!job.started) statement.start = say(Foretold::kStart, job.start, job.why_no_start);
    statement.end = say(job.started ? Foretold::kEndOfRunning : Foretold::kEndOfWaiting, job.end, job.why_no_end);
    if (statement.start && statement.start->at && statement.end.at)
      PutAfter(&statement.start->spread, &statement.end.spread);
  }
  return statements;
}

void Forecaster::Note(const std::vector<Statement>& statements, std::string_view scheduler,
                      const std::map<JobId, JobFacts>& facts) {
  const std::uint64_t under = HashOf(scheduler);
  for (const Statement& statement : statements) {
    const std::uint64_t program = ProgramOf(facts, statement.job);
    if (statement.start) NoteOne(statement.job, statement.made, *statement.start, program, under);
    NoteOne(statement.job, statement.made, statement.end, program, under);
  }
}

void Forecaster::NoteOne(JobId job, Micros made, const Said& said, std::uint64_t program, std::uint64_t scheduler) {
  if (!said.at) return;
  OpenKind& kind = open_[{job, said.what}];
  const std::uint32_t before = kind.made++;
  const std::uint64_t drawn =
      Mixed(std::uint64_t{job.value} << 34 | static_cast<std::uint64_t>(said.what) << 32 | before);
  if (before > 0 && drawn % before != 0) return;
  Open& open = before == 0 ? kind.first : kind.other;
  open.record = {};
  open.record.first = before == 0;
  open.record.what = said.what;
  open.record.predicted = std::max<Micros>(*said.at - made, 0);
  open.record.program = program;
  open.record.scheduler = scheduler;
  open.said_at = made;
  open.intervals = said.spread.intervals;
}

void Forecaster::Judge(OpenKind& kind, Micros at, std::vector<ForetoldRecord>* judged) {
  for (Open* open : {&kind.first, &kind.other}) {
    if (open == &kind.other && kind.made < 2) continue;
    ForetoldRecord& record = open->record;
    record.actual = std::max<Micros>(at - open->said_at, 0);
    for (std::size_t i = 0; i < open->intervals.size(); ++i) {
      record.held[i] = open->intervals[i].lo <= record.actual && record.actual <= open->intervals[i].hi;
    }
    intervals_.Add(record);
    judged->push_back(record);
  }
}

std::vector<ForetoldRecord> Forecaster::Started(JobId job, Micros at) {
  std::vector<ForetoldRecord> judged;
  const auto open = open_.find({job, Foretold::kStart});
  if (open == open_.end()) return judged;
  Judge(open->second, at, &judged);
  open_.erase(open);
  return judged;
}

std::vector<ForetoldRecord> Forecaster::Ended(const JobState& job) {
  std::vector<ForetoldRecord> judged;
  for (const Foretold what : kForetold) {
    const auto open = open_.find({job.progress.job, what});
    if (open == open_.end()) continue;
    if (what != Foretold::kStart && job.progress.outcome == JobOutcome::kSucceeded)
      Judge(open->second, job.progress.ended, &judged);
    open_.erase(open);
  }
  times_.Learn(job);
  return judged;
}

void Forecaster::Withdraw(JobId job) {
  for (const Foretold what : kForetold) open_.erase({job, what});
}

void Forecaster::SchedulerChanged() {
  for (auto& [key, open] : open_) open.first.record.overtaken = open.other.record.overtaken = true;
}

}  // namespace millrace::sched
