// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/psbs.h"

#include <algorithm>

namespace millrace::sched {

void PsbsOrder::Work(TaskKind phase, Micros slots, Micros passed, Micros) {
  queues_[phase].Advance(slots * passed, [](JobId, Micros) {});
}

void PsbsOrder::Resize(TaskKind phase, const JobState& job, const JobSize& size, Micros) {
  const JobId id = job.progress.job;
  VirtualQueue<JobId>& queue = queues_[phase];
  const Micros now = queue.now();
  if (!jobs_[phase].Contains(id)) jobs_[phase][id] = {now, now, size};
  Job& is = jobs_[phase].At(id);
  queue.Erase(is.key, id, is.size.weight);
  if (size.weight != is.size.weight) {
    // What it has been served so far counts as much as before.
    const Micros served = (std::min(now, is.key) - is.entered) * is.size.weight;
    is.entered = now - served / size.weight;
  }
  is.size = size;
  is.key = is.entered + size.work / size.weight;
  queue.Insert(is.key, id, size.weight);
}

void PsbsOrder::End(TaskKind phase, JobId job, bool served, Micros) {
  const Job& is = jobs_[phase].At(job);
  if (!served) queues_[phase].Erase(is.key, job, is.size.weight);
  jobs_[phase].Erase(job);
}

SizedOrder::Rank PsbsOrder::RankOf(SlotKind kind, const JobState& job) const {
  const Job& is = jobs_[kind.task()].At(job.progress.job);
  const bool late = is.key <= queues_[kind.task()].now();
  // Weights divide 16, so that the fraction is a whole number.
  const Micros running = late ? Micros{job.running_attempts[kind]} * (16 / is.size.weight) : 0;
  return {late ? 0 : 1, running, is.key, job.progress.job};
}

}  // namespace millrace::sched
