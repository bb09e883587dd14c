// SPDX-License-Identifier: Apache-2.0
#include "lab/run/foretelling.h"

#include <algorithm>
#include <memory>

namespace millrace::compare {

void Foretelling::Decided(Micros now, const sched::Engine& engine, const std::vector<JobId>& arrived) {
  const auto asked = [&](JobId job) { return job.value % std::max(every_, 1U) == 0; };
  if (std::ranges::none_of(arrived, asked)) return;
  const std::unique_ptr<sched::Engine> copy = engine.Clone();
  if (copy == nullptr) return;
  sched::PlayBounds bounds;
  bounds.events = kMostEvents;
  const sched::Played play = sched::PlayForward(*copy, now, forecaster_.times(), bounds);
  std::map<JobId, sched::JobFacts> facts;
  for (const sched::PlayedJob& job : play.jobs)
    facts[job.job].program = sched::HashOf(engine.state().FindJob(job.job)->spec.program);
  const std::vector<sched::Statement> statements = forecaster_.State(play, now, scheduler_, facts);
  for (const sched::Statement& statement : statements) {
    const bool fresh = std::ranges::find(arrived, statement.job) != arrived.end();
    if (fresh && asked(statement.job) && statement.end.at) turnarounds_[statement.job] = statement.end.spread.likely;
  }
  forecaster_.Note(statements, scheduler_, facts);
}

void Foretelling::Write(sim::SimResult* result) const {
  for (const auto& [job, turnaround] : turnarounds_) {
    if (job.value < result->jobs.size()) result->jobs[job.value].foretold = turnaround;
  }
}

}  // namespace millrace::compare
