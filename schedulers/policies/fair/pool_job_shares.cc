// SPDX-License-Identifier: Apache-2.0
// JobShares says what the jobs of a pool may have of its slots.
#include <algorithm>
#include <cstddef>
#include <tuple>

#include "schedulers/history/estimates.h"
#include "schedulers/policies/fair/pool_jobs.h"
#include "schedulers/policies/fair/shares.h"

namespace millrace::sched {
namespace {

struct Claimant {
  const JobState* job = nullptr;
  double share = 0;
};

// They get slots one after the other, until there are none left.
void Fill(SlotKind kind, double slots, const std::vector<Claimant*>& in_order) {
  for (Claimant* claimant : in_order) {
    claimant->share = std::min(slots, static_cast<double>(claimant->job->Demand(kind)));
    slots -= claimant->share;
  }
}

void ShareFairly(SlotKind kind, double slots, const std::vector<Claimant*>& claimants) {
  std::vector<ShareClaim> claims;
  for (const Claimant* claimant : claimants) {
    claims.push_back(
        {PriorityWeight(claimant->job->progress.priority), 0, static_cast<double>(claimant->job->Demand(kind))});
  }
  const std::vector<double> shares = FairShares(slots, claims);
  for (std::size_t i = 0; i < claimants.size(); ++i) claimants[i]->share = shares[i];
}

void ShareFifo(SlotKind kind, double slots, std::vector<Claimant*> claimants) {
  std::sort(claimants.begin(), claimants.end(),
            [](const Claimant* a, const Claimant* b) { return a->job->key < b->job->key; });
  Fill(kind, slots, claimants);
}

void ShareSjf(const ClusterState& state, SlotKind kind, double slots, std::vector<Claimant*> claimants) {
  const auto rank = [&](const Claimant* claimant) {
    return std::tuple(RemainingWork(state, *claimant->job, kind), claimant->job->progress.job);
  };
  std::sort(claimants.begin(), claimants.end(),
            [&](const Claimant* a, const Claimant* b) { return rank(a) < rank(b); });
  Fill(kind, slots, claimants);
}

void ShareMlq(const MlqSettings& mlq, SlotKind kind, double slots, const std::vector<Claimant*>& claimants) {
  std::vector<Claimant*> groups[2];
  std::vector<ShareClaim> claims = {{mlq.small_weight}, {mlq.large_weight}};
  for (Claimant* claimant : claimants) {
    const std::size_t group = IsSmall(mlq, *claimant->job) ? 0 : 1;
    groups[group].push_back(claimant);
    claims[group].demand += claimant->job->Demand(kind);
  }
  const std::vector<double> shares = FairShares(slots, claims);
  for (const std::size_t group : {0, 1}) ShareFifo(kind, shares[group], groups[group]);
}

}  // namespace

std::vector<double> JobShares(const ClusterState& state, PoolOrder order, const MlqSettings& mlq, SlotKind kind,
                              double slots, const std::vector<JobId>& jobs) {
  std::vector<Claimant> all;
  for (const JobId job : jobs) all.push_back({state.FindJob(job)});
  std::vector<Claimant*> claimants;
  for (Claimant& claimant : all) claimants.push_back(&claimant);
  switch (order) {
    case PoolOrder::kFair:
      ShareFairly(kind, slots, claimants);
      break;
    case PoolOrder::kFifo:
      ShareFifo(kind, slots, claimants);
      break;
    case PoolOrder::kSjf:
      ShareSjf(state, kind, slots, claimants);
      break;
    case PoolOrder::kMlq:
      ShareMlq(mlq, kind, slots, claimants);
      break;
  }
  std::vector<double> shares;
  for (const Claimant& claimant : all) shares.push_back(claimant.share);
  return shares;
}

}  // namespace millrace::sched
