// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/round_robin.h"

namespace millrace::sched {
namespace {

std::uint32_t Running(const ClusterState& state, JobId job) {
  const auto& running = state.FindJob(job)->running_attempts;
  return running[TaskKind::kMap] + running[TaskKind::kReduce];
}

}  // namespace

void RoundRobin::OnJobSubmitted(const ClusterState& state, JobId job) {
  jobs_[job] = {++last_place_, Running(state, job)};
  line_[last_place_] = job;
}

void RoundRobin::OnJobEnded(const ClusterState&, JobId job) {
  line_.erase(jobs_.at(job).place);
  jobs_.erase(job);
}

void RoundRobin::OnJobChanged(const ClusterState& state, JobId job) {
  Job& known = jobs_.at(job);
  const std::uint32_t running = Running(state, job);
  if (running > known.running) {
    line_.erase(known.place);
    known.place = ++last_place_;
    line_[known.place] = job;
  }
  known.running = running;
}

std::optional<JobId> RoundRobin::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  for (const auto& [place, job] : line_) {
    if (state.FindJob(job)->runnable[kind] && MayRun(state, kind, job) && take(job)) return job;
  }
  return std::nullopt;
}

bool RoundRobin::Before(const ClusterState&, SlotKind, Micros, JobId a, JobId b) const {
  return jobs_.at(a).place < jobs_.at(b).place;
}

bool RoundRobin::MayRun(const ClusterState& state, SlotKind kind, JobId job) const {
  return !most_tasks_ || state.FindJob(job)->running_attempts[kind] < *most_tasks_;
}

}  // namespace millrace::sched
