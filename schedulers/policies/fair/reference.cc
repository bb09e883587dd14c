// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "schedulers/history/estimates.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/pool_jobs.h"
#include "schedulers/policies/fair/shares.h"

namespace millrace::sched {
namespace {

using Bound = WaterLevel::Bound;
using Wide = __int128;

constexpr std::uint32_t kNoLimit = 0xffffffff;

// A claimant of a share: a pool, a job, or a queue of mlq.
struct Claimant {
  FairClaim claim;
  std::size_t number = 0;  // among those that claim with it, by id or name
  Bound bound = Bound::kMinimum;
  Units minimum = 0;  // as granted
  double share = 0;   // in units
  Units whole = 0;    // the share, rounded down
};

// A level at which a claimant's share begins to grow, or ceases to.
struct Edge {
  Claimant* of;
  bool begins;
  [[nodiscard]] Units at() const { return begins ? of->minimum : of->claim.demand * kSlot; }
};

void GrantMinima(Units capacity, std::vector<Claimant>& claimants) {
  std::vector<ShareClaim> claims;
  Units asked = 0;
  for (Claimant& of : claimants) {
    of.minimum = std::min(of.claim.minimum, of.claim.demand) * kSlot;
    asked += of.minimum;
    claims.push_back({1, static_cast<double>(of.claim.minimum * kSlot), static_cast<double>(of.claim.demand * kSlot)});
  }
  if (asked <= capacity) return;
  const std::vector<double> granted = GrantedMinima(static_cast<double>(capacity), claims);
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    claimants[i].minimum = static_cast<Units>(std::floor(granted[i]));
  }
}

// Pours the capacity: raises the level from edge to edge as long as there is enough.
void ShareOut(Units capacity, std::vector<Claimant>& claimants) {
  GrantMinima(capacity, claimants);
  Units fixed = 0, slope = 0;
  std::vector<Edge> edges;
  for (Claimant& of : claimants) {
    const Units demand = of.claim.demand * kSlot;
    of.bound = of.minimum >= demand ? Bound::kDemand : of.minimum == 0 ? Bound::kLevel : Bound::kMinimum;
    if (of.bound == Bound::kLevel) slope += of.claim.weight;
    if (of.bound != Bound::kLevel) fixed += std::min(of.minimum, demand);
    if (of.bound == Bound::kMinimum) edges.push_back({&of, true});
    if (of.bound != Bound::kDemand) edges.push_back({&of, false});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return Wide{a.at()} * b.of->claim.weight < Wide{b.at()} * a.of->claim.weight;
  });
  for (const Edge& edge : edges) {
    if (Wide{slope} * edge.at() > Wide{capacity - fixed} * edge.of->claim.weight) break;
    edge.of->bound = edge.begins ? Bound::kLevel : Bound::kDemand;
    slope += edge.begins ? edge.of->claim.weight : -edge.of->claim.weight;
    fixed += edge.begins ? -edge.at() : edge.at();
  }
  const double level = slope > 0 ? static_cast<double>(capacity - fixed) / static_cast<double>(slope) : 0;
  for (Claimant& of : claimants) {
    of.share = of.bound == Bound::kLevel     ? level * static_cast<double>(of.claim.weight)
               : of.bound == Bound::kMinimum ? static_cast<double>(of.minimum)
                                             : static_cast<double>(of.claim.demand * kSlot);
    of.whole = of.bound == Bound::kLevel     ? static_cast<Units>(Wide{capacity - fixed} * of.claim.weight / slope)
               : of.bound == Bound::kMinimum ? of.minimum
                                             : of.claim.demand * kSlot;
  }
}

// Returns running/share, infinite without a share.
double Ratio(const Claimant& of) {
  return of.share > 0 ? of.claim.running * static_cast<double>(kSlot) / of.share
                      : std::numeric_limits<double>::infinity();
}

// Returns a number below 0 if `a` runs less of `of_a` than `b` runs of `of_b`, and one above 0 if it runs more.
int Compare(const Claimant& a, Units of_a, const Claimant& b, Units of_b) {
  const Wide left = Wide{a.claim.running} * std::max<Units>(of_b, 1);
  const Wide right = Wide{b.claim.running} * std::max<Units>(of_a, 1);
  return left < right ? -1 : left > right ? 1 : 0;
}

bool Earlier(const Claimant& a, const Claimant& b) {
  const bool below = a.claim.running < a.claim.minimum, other_below = b.claim.running < b.claim.minimum;
  if (below != other_below) return below;
  int order = 0;
  if (below || (a.bound == Bound::kMinimum && b.bound == Bound::kMinimum)) {
    order = Compare(a, a.claim.minimum, b, b.claim.minimum);
  } else if (a.bound != b.bound) {
    order = Ratio(a) < Ratio(b) ? -1 : Ratio(a) > Ratio(b) ? 1 : 0;
  } else if (a.bound == Bound::kLevel) {
    order = Compare(a, a.claim.weight, b, b.claim.weight);
  } else {
    order = Compare(a, a.claim.demand, b, b.claim.demand);
  }
  return order != 0 ? order < 0 : a.number < b.number;
}

// Shares out the capacity, and returns those that can take a slot, in order.
std::vector<Claimant> InOrder(Units capacity, std::vector<Claimant> claimants) {
  ShareOut(capacity, claimants);
  std::erase_if(claimants, [](const Claimant& of) { return !of.claim.offered; });
  std::sort(claimants.begin(), claimants.end(), Earlier);
  return claimants;
}

std::vector<JobId> InSubmitOrder(const ClusterState& state, std::vector<JobId> jobs) {
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return state.FindJob(a)->key < state.FindJob(b)->key; });
  return jobs;
}

std::vector<JobId> ByWork(const ClusterState& state, SlotKind kind, std::vector<JobId> jobs) {
  const auto rank = [&](JobId job) { return std::pair(RemainingWork(state, *state.FindJob(job), kind), job); };
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return rank(a) < rank(b); });
  return jobs;
}

std::vector<Claimant> ClaimantsOf(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs) {
  std::vector<Claimant> claimants;
  for (const JobId id : jobs) {
    const JobState& job = *state.FindJob(id);
    const Units weight = WeightUnits(PriorityWeight(job.progress.priority));
    claimants.push_back({{weight, 0, job.Demand(kind), job.running_attempts[kind], job.runnable[kind]}, id.value});
  }
  return claimants;
}

std::vector<JobId> ByShare(const ClusterState& state, SlotKind kind, Units slots, const std::vector<JobId>& jobs) {
  std::vector<JobId> order;
  for (const Claimant& of : InOrder(slots, ClaimantsOf(state, kind, jobs)))
    order.push_back(JobId{static_cast<std::uint32_t>(of.number)});
  return order;
}

std::vector<JobId> ByQueue(const ClusterState& state, SlotKind kind, Units slots, const MlqSettings& mlq,
                           const std::vector<JobId>& jobs) {
  std::vector<JobId> queues[2];  // small, large
  std::vector<Claimant> claimants = {{{WeightUnits(mlq.small_weight)}, 0}, {{WeightUnits(mlq.large_weight)}, 1}};
  for (const JobId id : jobs) {
    const JobState& job = *state.FindJob(id);
    const std::size_t queue = IsSmall(mlq, job) ? 0 : 1;
    FairClaim& claim = claimants[queue].claim;
    claim.demand += job.Demand(kind), claim.running += job.running_attempts[kind];
    claim.offered |= job.runnable[kind];
    queues[queue].push_back(id);
  }
  std::vector<JobId> order;
  for (const Claimant& of : InOrder(slots, claimants)) {
    for (const JobId job : InSubmitOrder(state, queues[of.number])) order.push_back(job);
  }
  return order;
}

}  // namespace

void FairReference::AdmitNext(const ClusterState& state, const std::string& name) {
  Pool& pool = pools_[name];
  const std::uint32_t limit = SettingsOfPool(settings_, name).max_running_jobs.value_or(kNoLimit);
  for (const JobId job : InSubmitOrder(state, {pool.jobs.begin(), pool.jobs.end()})) {
    if (pool.admitted.size() < limit && !state.FindJob(job)->over_limit) pool.admitted.insert(job);
  }
}

// This comes once an event is over. In between, a job may be over the limit for a moment: another one of its user comes
// before it, has no tasks and has ended.
void FairReference::OnJobChanged(const ClusterState& state, JobId job) {
  const std::string& name = state.FindJob(job)->spec.PoolName();
  if (state.FindJob(job)->over_limit) pools_[name].admitted.erase(job);
  AdmitNext(state, name);
}

void FairReference::OnJobSubmitted(const ClusterState& state, JobId job) {
  const std::string& name = state.FindJob(job)->spec.PoolName();
  pools_[name].jobs.insert(job);
  AdmitNext(state, name);
}

void FairReference::OnJobEnded(const ClusterState& state, JobId job) {
  const auto of =
      std::find_if(pools_.begin(), pools_.end(), [&](const auto& pool) { return pool.second.jobs.contains(job); });
  of->second.jobs.erase(job);
  of->second.admitted.erase(job);
  AdmitNext(state, of->first);
  if (of->second.jobs.empty()) pools_.erase(of);
}

FairReference::Bounds FairReference::BoundsOf(SlotKind kind, const std::string& name) const {
  const PoolSettings& of = SettingsOfPool(settings_, name);
  if (kind == kMapSlot) return {of.min_maps, of.max_maps.value_or(kNoLimit)};
  if (kind == reduces_) return {of.min_reduces, of.max_reduces.value_or(kNoLimit)};
  return {};
}

bool FairReference::MayHoldBack(const ClusterState& state, JobId job) const {
  return BoundsOf(kComputePermit, state.FindJob(job)->spec.PoolName()).maximum != kNoLimit;
}

Units FairReference::WeightOf(SlotKind, const std::string& pool) const {
  return WeightUnits(SettingsOfPool(settings_, pool).weight);
}

FairClaim FairReference::ClaimOf(const ClusterState& state, SlotKind kind, const std::string& name) const {
  const Pool& pool = pools_.at(name);
  const auto [minimum, maximum] = BoundsOf(kind, name);
  FairClaim claim{WeightOf(kind, name), std::min(minimum + ExtraOf(state, kind, name), maximum)};
  for (const JobId id : pool.jobs) {
    const JobState& job = *state.FindJob(id);
    const bool admitted = pool.admitted.contains(id);
    claim.running += job.running_attempts[kind];
    claim.demand += admitted ? job.Demand(kind) : job.running_attempts[kind];
    claim.offered |= admitted && job.runnable[kind];
  }
  claim.offered &= claim.running < maximum;
  claim.demand = std::min(claim.demand, maximum);
  return claim;
}

PoolOrder FairReference::OrderOf(const std::string& name) const {
  return SettingsOfPool(settings_, name).order.value_or(settings_.Of<FairSettings>().order);
}

std::set<JobId> FairReference::JobsBelowShare(const ClusterState& state, SlotKind kind) const {
  std::vector<std::string> names;
  std::vector<Claimant> pools;
  for (const auto& [name, pool] : pools_) {
    pools.push_back({ClaimOf(state, kind, name), names.size()});
    names.push_back(name);
  }
  ShareOut(Units{state.Capacity(kind)} * kSlot, pools);
  std::set<JobId> below;
  for (const Claimant& of : pools) {
    const std::string& name = names[of.number];
    if (OrderOf(name) != PoolOrder::kFair) continue;
    const std::set<JobId>& admitted = pools_.at(name).admitted;
    std::vector<Claimant> jobs = ClaimantsOf(state, kind, {admitted.begin(), admitted.end()});
    ShareOut(of.whole, jobs);
    for (const Claimant& job : jobs) {
      if ((job.claim.running + 1) * kSlot <= job.whole) below.insert(JobId{static_cast<std::uint32_t>(job.number)});
    }
  }
  return below;
}

std::vector<JobId> FairReference::OrderIn(const ClusterState& state, SlotKind kind, const std::string& name,
                                          Units slots) const {
  const std::set<JobId>& admitted = pools_.at(name).admitted;
  const std::vector<JobId> jobs(admitted.begin(), admitted.end());
  switch (OrderOf(name)) {
    case PoolOrder::kFair:
      return ByShare(state, kind, slots, jobs);
    case PoolOrder::kSjf:
      return ByWork(state, kind, jobs);
    case PoolOrder::kMlq:
      return ByQueue(state, kind, slots, settings_.Of<MlqSettings>(), jobs);
    case PoolOrder::kFifo:
      break;
  }
  return InSubmitOrder(state, jobs);
}

std::vector<JobId> FairReference::Order(const ClusterState& state, SlotKind kind) const {
  std::vector<std::string> names;
  std::vector<Claimant> claimants;
  for (const auto& [name, pool] : pools_) {
    claimants.push_back({ClaimOf(state, kind, name), names.size()});
    names.push_back(name);
  }
  std::vector<JobId> order;
  for (const Claimant& of : InOrder(Units{state.Capacity(kind)} * kSlot, claimants)) {
    for (const JobId job : OrderIn(state, kind, names[of.number], of.whole)) order.push_back(job);
  }
  std::erase_if(order, [&](JobId job) { return !state.FindJob(job)->runnable[kind]; });
  return order;
}

std::optional<JobId> FairReference::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  const std::vector<JobId> order = Order(state, kind);
  const auto taker = std::find_if(order.begin(), order.end(), take);
  return taker == order.end() ? std::nullopt : std::optional(*taker);
}

bool FairReference::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  const std::vector<JobId> order = Order(state, kind);
  return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
}

bool FairReference::MayRun(const ClusterState& state, SlotKind kind, JobId job) const {
  const std::string& name = state.FindJob(job)->spec.PoolName();
  const FairClaim claim = ClaimOf(state, kind, name);
  return pools_.at(name).admitted.contains(job) && claim.running < BoundsOf(kind, name).maximum;
}

}  // namespace millrace::sched
