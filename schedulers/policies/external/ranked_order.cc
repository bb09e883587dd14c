// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/ranked_order.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {

void RankedOrder::Set(SlotKind kind, std::vector<JobId> jobs) {
  Ranks& ranks = ranks_[kind];
  ranks.jobs = std::move(jobs);
  ranks.place.clear();
  for (std::uint32_t i = 0; i < ranks.jobs.size(); ++i) ranks.place.emplace(ranks.jobs[i].value, i);
}

std::unique_ptr<JobOrder> RankedOrder::Clone(const ClusterState& state) const {
  std::unique_ptr<JobOrder> rest = rest_->Clone(state);
  if (rest == nullptr) return nullptr;
  auto clone = std::make_unique<RankedOrder>(std::move(rest));
  clone->ranks_ = ranks_;
  return clone;
}

PerSlot<bool> RankedOrder::BeginRound(const ClusterState& state, Micros now) {
  (void)rest_->BeginRound(state, now);
  return {true, true, true};  // another order may let jobs in that the other one kept out
}

std::optional<JobId> RankedOrder::Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const {
  for (const JobId job : RanksOf(kind).jobs) {
    const JobState* const known = state.FindJob(job);
    if (known != nullptr && known->runnable[kind] && take(job)) return job;
  }
  return rest_->Offer(state, kind, now, [&](JobId job) { return !Names(kind, job) && take(job); });
}

bool RankedOrder::Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const {
  const auto& place = RanksOf(kind).place;
  const auto of_a = place.find(a.value), of_b = place.find(b.value);
  if (of_a == place.end() && of_b == place.end()) return rest_->Before(state, kind, now, a, b);
  if (of_a == place.end() || of_b == place.end()) return of_b == place.end();
  return of_a->second < of_b->second;
}

bool RankedOrder::MayRun(const ClusterState& state, SlotKind kind, JobId job) const {
  return Names(kind, job) || rest_->MayRun(state, kind, job);
}

bool RankedOrder::MayHoldBack(const ClusterState& state, JobId job) const { return rest_->MayHoldBack(state, job); }

// Why jobs wait that the other order keeps out counts only for jobs that are not named.
PolicyView RankedOrder::View(const ClusterState& state, Micros now) const {
  PolicyView view = rest_->View(state, now);
  std::erase_if(view.waits, [&](const WaitView& wait) { return Names(wait.slot, wait.job); });
  return view;
}

}  // namespace millrace::sched
