// SPDX-License-Identifier: Apache-2.0
// Invents runs for tests. Thread rule: any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/run/run_record.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare::testing {

// Returns schedulers without labels and settings.
inline std::vector<sched::Variant> Plain(const std::vector<std::string>& names) {
  std::vector<sched::Variant> schedulers;
  for (const std::string& name : names) schedulers.push_back({name, name});
  return schedulers;
}

// Returns a job that succeeded, with its times in seconds.
inline sim::JobRow Job(std::uint32_t index, const std::string& pool, double submit, double start, double end) {
  const auto micros = [](double seconds) { return static_cast<Micros>(seconds * kSecond); };
  sim::JobRow job;
  job.job = index, job.name = "job" + std::to_string(index), job.user = pool, job.pool = pool, job.group = pool;
  job.maps = 1, job.submitted = job.started = true, job.outcome = sched::JobOutcome::kSucceeded;
  job.submit = micros(submit), job.start = micros(start), job.end = job.maps_ended = micros(end);
  return job;
}

inline sim::TaskRow Task(std::uint32_t job, TaskKind kind, std::uint32_t index, double start, double read,
                         double compute, double end) {
  const auto micros = [](double seconds) { return static_cast<Micros>(seconds * kSecond); };
  sim::TaskRow task;
  task.attempt = {{JobId{job}, kind, index}, 0};
  task.locality = Locality::kNode, task.how = sim::AttemptEnd::kSucceeded;
  task.start = micros(start), task.read = micros(read), task.compute = micros(compute), task.end = micros(end);
  return task;
}

// Returns the outcome of a run with these jobs and tasks, with its summary.
inline RunOutcome Outcome(std::vector<sim::JobRow> jobs, std::vector<sim::TaskRow> tasks = {}) {
  RunOutcome outcome;
  outcome.result.scheduler = "fifo", outcome.result.workload = "made up";
  outcome.result.jobs = std::move(jobs), outcome.result.tasks = std::move(tasks);
  outcome.result.summary.utilisation_total = 0.5;
  sim::Summarise(&outcome.result);
  outcome.result.pools.clear(), outcome.result.groups.clear();  // a RunOutcome does not keep them
  return outcome;
}

}  // namespace millrace::compare::testing
