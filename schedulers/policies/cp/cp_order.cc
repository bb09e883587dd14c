// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/cp_order.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace millrace::sched {
namespace {

constexpr TaskKind kMap = TaskKind::kMap;
constexpr TaskKind kReduce = TaskKind::kReduce;
constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

Micros DeadlineOf(const JobState& job) {
  return job.spec.deadline > 0 ? job.spec.deadline : std::numeric_limits<Micros>::max();
}

bool MapsDone(const JobState& job) { return job.progress.maps_done == job.progress.maps; }

}  // namespace

void CpOrder::Follow(const ClusterState& state, const Plan& plan) {
  for (auto& [id, ordered] : jobs_) {
    ordered.chunks.clear();
    ordered.next = 0;
    for (Rank& rank : ordered.ranks) rank.position = kEnd, rank.planned = false;
  }
  for (std::size_t i = 0; i < plan.maps.size(); ++i) {
    const auto at = jobs_.find(plan.maps[i].job);
    if (at != jobs_.end()) at->second.chunks.push_back({i, plan.maps[i].maps});
  }
  for (std::size_t i = 0; i < plan.reduces.size(); ++i) {
    const auto at = jobs_.find(plan.reduces[i]);
    if (at == jobs_.end()) continue;
    OrderedJob& ordered = at->second;
    std::uint32_t planned = 0;
    for (const Chunk& chunk : ordered.chunks) planned += chunk.maps;
    if (planned > ordered.pending[kMap]) CrossOff(&ordered, planned - ordered.pending[kMap]);
    for (Rank& rank : ordered.ranks) rank.position = i, rank.planned = true;
    if (!ordered.chunks.empty()) ordered.ranks[kMap].position = ordered.chunks[ordered.next].position;
  }
  for (auto& [id, ordered] : jobs_) {
    if (!ordered.ranks[kMap].planned) RankByDeadline(*state.FindJob(id), &ordered);
  }
  for (std::set<Rank>& runnable : runnable_) runnable.clear();
  for (const auto& [id, ordered] : jobs_) Enlist(*state.FindJob(id), ordered);
}

std::vector<JobId> CpOrder::Jobs() const {
  std::vector<Rank> ranks;
  for (const auto& [id, ordered] : jobs_) ranks.push_back(ordered.ranks[kMap]);
  std::sort(ranks.begin(), ranks.end());
  std::vector<JobId> jobs;
  for (const Rank& rank : ranks) jobs.push_back(rank.job);
  return jobs;
}

void CpOrder::OnJobSubmitted(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  OrderedJob ordered;
  for (const TaskKind kind : kTaskKinds) ordered.pending[kind] = job.Pending(kind).size();
  ordered.over_limit = job.over_limit;
  RankByDeadline(job, &ordered);
  Enlist(job, jobs_[id] = ordered);
}

void CpOrder::OnJobEnded(const ClusterState&, JobId job) {
  const auto at = jobs_.find(job);
  Delist(at->second);
  jobs_.erase(at);
}

void CpOrder::OnJobChanged(const ClusterState& state, JobId id) {
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return;
  OrderedJob& ordered = at->second;
  const JobState& job = *state.FindJob(id);
  Delist(ordered);
  const std::uint32_t before = ordered.pending[kMap];
  tasks_returned_ |= std::exchange(ordered.over_limit, job.over_limit) && !job.over_limit;
  for (const TaskKind kind : kTaskKinds) {
    std::uint32_t& pending = ordered.pending[kind];
    tasks_returned_ |= job.Pending(kind).size() > pending;
    pending = job.Pending(kind).size();
  }
  const std::uint32_t maps = ordered.pending[kMap];
  if (maps < before) CrossOff(&ordered, before - maps);
  if (maps > before && !ordered.chunks.empty()) ordered.chunks[ordered.next].maps += maps - before;
  if (!ordered.chunks.empty()) ordered.ranks[kMap].position = ordered.chunks[ordered.next].position;
  Enlist(job, ordered);
}

std::optional<JobId> CpOrder::Offer(const ClusterState&, SlotKind kind, Micros, const Take& take) const {
  for (const Rank& rank : runnable_[kind]) {
    if (take(rank.job)) return rank.job;
  }
  return std::nullopt;
}

bool CpOrder::Before(const ClusterState&, SlotKind kind, Micros, JobId a, JobId b) const {
  return jobs_.at(a).ranks[kind.task()] < jobs_.at(b).ranks[kind.task()];
}

bool CpOrder::MayRun(const ClusterState& state, SlotKind kind, JobId job) const {
  return kind != kReduceSlot || MapsDone(*state.FindJob(job));
}

PerSlot<bool> CpOrder::BeginRound(const ClusterState&, Micros) { return {false, std::exchange(let_in_, false), false}; }

PolicyView CpOrder::View(const ClusterState& state, Micros) const {
  PolicyView view;
  for (const auto& [id, ordered] : jobs_) {
    const JobState& job = *state.FindJob(id);
    if (job.runnable[kReduce] && !MapsDone(job)) {
      view.waits.emplace_back(id, kReduceSlot, WaitCause::kMapsFirst, job.progress.maps_done, job.progress.maps);
    }
  }
  return view;
}

void CpOrder::RankByDeadline(const JobState& job, OrderedJob* ordered) const {
  const Micros deadline = DeadlineOf(job);
  for (Rank& rank : ordered->ranks) rank = {kEnd, false, deadline, job.key.submit_order, job.key.job};
  for (const auto& [id, other] : jobs_) {
    if (!other.ranks[kMap].planned || other.ranks[kMap].deadline <= deadline) continue;
    for (const TaskKind kind : kTaskKinds) {
      ordered->ranks[kind].position = std::min(ordered->ranks[kind].position, other.ranks[kind].position);
    }
  }
}

void CpOrder::CrossOff(OrderedJob* ordered, std::uint32_t maps) {
  while (maps > 0 && ordered->next < ordered->chunks.size()) {
    Chunk& chunk = ordered->chunks[ordered->next];
    const std::uint32_t taken = std::min(maps, chunk.maps);
    chunk.maps -= taken;
    maps -= taken;
    if (chunk.maps > 0) return;
    if (ordered->next + 1 == ordered->chunks.size()) return;
    ++ordered->next;
  }
}

void CpOrder::Enlist(const JobState& job, const OrderedJob& ordered) {
  if (job.runnable[kMap]) runnable_[kMap].insert(ordered.ranks[kMap]);
  if (job.runnable[kComputePermit]) runnable_[kComputePermit].insert(ordered.ranks[kReduce]);
  if (!job.runnable[kReduce] || !MapsDone(job)) return;
  runnable_[kReduce].insert(ordered.ranks[kReduce]);
  let_in_ = true;
}

void CpOrder::Delist(const OrderedJob& ordered) {
  for (const SlotKind kind : kSlotKinds) runnable_[kind].erase(ordered.ranks[kind.task()]);
}

}  // namespace millrace::sched
