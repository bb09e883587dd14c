// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/refusal_memory.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {

void SlotRefusals::Reset(std::uint32_t node_ids) {
  accepting_more_.clear();
  if (node_ids == node_ids_ && refused_by_all_.empty()) return;
  node_ids_ = node_ids;
  unasked_ = OrderedBits::Full(node_ids);
  refused_by_all_ = to_recheck_ = OrderedBits();
}

void SlotRefusals::MayAcceptMore(JobId job) {
  if (refused_by_all_.empty()) return;
  if (std::find(accepting_more_.begin(), accepting_more_.end(), job) == accepting_more_.end())
    accepting_more_.push_back(job);
  if (accepting_more_.size() > kMostAcceptingMore) return Reset();
  to_recheck_ = refused_by_all_;
}

void SlotRefusals::Forget(JobId job) { std::erase(accepting_more_, job); }

std::uint32_t SlotRefusals::NextToOffer(const OrderedBits& free, std::uint32_t from, std::uint32_t end) const {
  std::uint32_t next = OrderedBits::NextCommon(free, unasked_, from);
  if (!to_recheck_.empty()) next = std::min(next, OrderedBits::NextCommon(free, to_recheck_, from));
  return next < end ? next : OrderedBits::kNone;
}

void SlotRefusals::RecordRefusal(std::uint32_t node) {
  unasked_.Erase(node);
  refused_by_all_.Insert(node);
  to_recheck_.Erase(node);
}

// All jobs that accept more have been asked about the free nodes. They have not refused the nodes that were not free,
// so these are offered to all again.
void SlotRefusals::EndWalk() {
  for (const std::uint32_t node : to_recheck_) {
    refused_by_all_.Erase(node);
    unasked_.Insert(node);
  }
  if (!to_recheck_.empty()) to_recheck_ = OrderedBits();
  accepting_more_.clear();
}

RefusalMemory::JobCounts RefusalMemory::CountsOf(const JobState& job) {
  JobCounts counts;
  for (const TaskKind kind : kTaskKinds) {
    counts.pending[kind] = job.Pending(kind).size();
    counts.running[kind] = job.running_attempts[kind];
    counts.runnable[kind] = job.runnable[kind];
  }
  counts.computing = job.running_attempts[kComputePermit];
  counts.copied = static_cast<std::uint32_t>(job.copied_reduces.size());
  counts.may_compute = job.may_compute;
  counts.done = job.progress.maps_done + job.progress.reduces_done;
  counts.failed = job.Failures();
  return counts;
}

void RefusalMemory::OnJobSubmitted(const JobState& job) {
  jobs_[job.progress.job] = {};
  OnJobChanged(job);
}

PerKind<bool> RefusalMemory::OnJobChanged(const JobState& job) {
  const JobId id = job.progress.job;
  const JobCounts is = CountsOf(job), was = std::exchange(jobs_[id], is);
  PerKind<bool> more = {};
  for (const TaskKind kind : kTaskKinds) {
    if (!is.runnable[kind]) continue;
    const bool left_copy = splits_reduces_ && kind == TaskKind::kReduce &&
                           (is.running[kind] < was.running[kind] || is.computing > was.computing);
    const bool replicas_moved = is == was;
    more[kind] = !was.runnable[kind] || is.pending[kind] > was.pending[kind] || is.failed != was.failed || left_copy ||
                 replicas_moved;
    if (more[kind]) slots_[kind].MayAcceptMore(id);
  }
  return more;
}

void RefusalMemory::OnJobEnded(JobId job) {
  jobs_.Erase(job);
  for (SlotRefusals& slots : slots_) slots.Forget(job);
}

void RefusalMemory::OnNodesChanged(const ClusterState& state) {
  for (SlotRefusals& slots : slots_) slots.Reset(state.node_ids());
}

}  // namespace millrace::sched
