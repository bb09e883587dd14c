// SPDX-License-Identifier: Apache-2.0
#include "lab/run/phases.h"

#include <algorithm>
#include <vector>

namespace millrace::compare {
namespace {

// Returns the reduce of each job that ended last among those that succeeded; null where there is none.
std::vector<const sim::TaskRow*> LastReduces(const sim::SimResult& result) {
  std::vector<const sim::TaskRow*> last(result.jobs.size());
  for (const sim::TaskRow& task : result.tasks) {
    if (!task.attempt.task.reduce() || task.how != sim::AttemptEnd::kSucceeded) continue;
    const sim::TaskRow*& known = last[task.attempt.task.job.value];
    if (known == nullptr || task.end > known->end) known = &task;
  }
  return last;
}

void Add(const sim::JobRow& job, const sim::TaskRow* reduce, Phases* sums) {
  const auto span = [](Micros from, Micros to) { return static_cast<double>(to - from) / kMicrosPerSecond; };
  const auto within = [&job](Micros earlier, Micros moment) { return std::clamp(moment, earlier, job.end); };
  const Micros start = within(job.submit, job.start);
  sums->wait += span(job.submit, start);
  if (reduce == nullptr) {
    sums->map += span(start, job.end);
    return;
  }
  const Micros mapped = within(start, job.maps_ended);
  const Micros launched = within(mapped, reduce->start);
  const Micros copied = within(launched, reduce->read);
  const Micros permitted = within(copied, reduce->compute);
  sums->map += span(start, mapped);
  sums->wait += span(mapped, launched);
  sums->copy += span(launched, copied);
  sums->permit += span(copied, permitted);
  sums->compute += span(permitted, job.end);
}

}  // namespace

std::optional<Phases> PhasesOf(const sim::SimResult& result) {
  if (result.tasks.empty()) return std::nullopt;
  const std::vector<const sim::TaskRow*> reduces = LastReduces(result);
  Phases phases;
  double jobs = 0;
  for (const sim::JobRow& job : result.jobs) {
    if (job.outcome != sched::JobOutcome::kSucceeded) continue;
    Add(job, reduces[job.job], &phases);
    ++jobs;
  }
  if (jobs == 0) return std::nullopt;
  for (double* sum : {&phases.wait, &phases.map, &phases.copy, &phases.permit, &phases.compute}) *sum /= jobs;
  return phases;
}

}  // namespace millrace::compare
