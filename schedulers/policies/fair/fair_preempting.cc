// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/fair_preempting.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "schedulers/core/misfit.h"

namespace millrace::sched {
namespace {

// Returns how many of these can be had on each node without anything being killed.
std::map<NodeId, std::uint32_t> FreeOf(const ClusterState& state, SlotKind kind) {
  std::map<NodeId, std::uint32_t> free;
  if (kind != kComputePermit) {
    for (const std::uint32_t id : state.FreeNodes(kind.task()))
      free[NodeId{id}] = state.FindNode(NodeId{id})->FreeSlots(kind.task());
    return free;
  }
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node != nullptr && node->HasFreePermit() && !node->copied.empty())
      free[node->id] = node->Permits() - node->computing;
  }
  return free;
}

PerSlot<StarvationClocks> ClocksWith(const StarvationClocks::Patience& patience) {
  return {{StarvationClocks(patience), StarvationClocks(patience), StarvationClocks(patience)}};
}

}  // namespace

FairPreempting::FairPreempting(std::string name, std::unique_ptr<FairOrder> order, Admission admission)
    : GreedyOver(std::move(name), std::move(order), std::move(admission)),
      pool_clocks_(ClocksWith([this](const Lack& pool) { return Patience(pool); })),
      job_clocks_(ClocksWith([this](const Lack&) { return fair().fair_share_timeout; })) {
  Watch();
}

// The order is made again, since pools and clocks point to each other. What starves there starves here; what would be
// seen to starve at the end of the round has done so since the last one.
FairPreempting::FairPreempting(const FairPreempting& other, const ClusterState& state)
    : GreedyOver(other, other.order().New()),
      pool_clocks_(ClocksWith([this](const Lack& pool) { return Patience(pool); })),
      job_clocks_(ClocksWith([this](const Lack&) { return fair().fair_share_timeout; })),
      pools_first_(other.pools_first_),
      jobs_first_(other.jobs_first_),
      freed_(other.freed_),
      permits_taken_at_(other.permits_taken_at_),
      round_ended_(other.round_ended_) {
  Watch();
  order().TakeOver(state, other.order());
  for (const SlotKind kind : Kinds()) {
    watches_[kind]->Update(round_ended_);
    pool_clocks_[kind].SetAs(other.pool_clocks_[kind]);
    job_clocks_[kind].SetAs(other.job_clocks_[kind]);
  }
}

std::unique_ptr<Policy> FairPreempting::Clone(const ClusterState& state) const {
  return std::unique_ptr<Policy>(new FairPreempting(*this, state));
}

void FairPreempting::Watch() {
  if (fair().preempt_within_pools) order().KeepJobClocks(&job_clocks_);
  for (const SlotKind kind : Kinds()) {
    StarvationWatch::Within jobs;
    if (fair().preempt_within_pools) {
      jobs = [this, kind](const FairQueue::Member& pool, Units units, Micros now) {
        return order().UpdateJobClocks(FairPool::Of(pool), kind, units, now);
      };
    }
    watches_[kind] = std::make_unique<StarvationWatch>(order().pools(kind), pool_clocks_[kind], std::move(jobs));
  }
}

std::span<const SlotKind> FairPreempting::Kinds() const {
  const bool permits = order().reduces() == kComputePermit && fair().preempt_computing;
  return std::span(kSlotKinds).first(permits ? 3 : 2);
}

Micros FairPreempting::Patience(const Lack& pool) const {
  if (pool.cause == Cause::kFairShare) return fair().fair_share_timeout;
  const PoolSettings& settings = FairPool::Of(*pool.member).settings();
  return settings.min_share_timeout.value_or(fair().min_share_timeout);
}

std::uint32_t FairPreempting::CouldUse(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs,
                                       NodeId node) const {
  const NodeState& at = *state.FindNode(node);
  const bool frees = at.Used(kind.task()) <= at.limits.Of(kind.task()) && at.UsedTogether() <= at.limits.total;
  // On a node that takes no tasks, or runs more than it may, the end of a task leaves no slot.
  if (kind != kComputePermit && (!at.TakesTasks() || !frees)) return 0;
  std::uint32_t could = 0;
  for (const JobId job : jobs) {
    if (kind != kComputePermit) {
      could += admission().CouldRun(state, kind.task(), job, node);
      continue;
    }
    for (const CopiedReduce& reduce : state.FindJob(job)->copied_reduces) could += reduce.node == node ? 1 : 0;
  }
  return could;
}

bool FairPreempting::CouldUseAny(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs) const {
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node != nullptr && node->TakesTasks() && CouldUse(state, kind, jobs, node->id) > 0) return true;
  }
  return false;
}

std::vector<JobId> FairPreempting::ThatGoOn(const ClusterState& state, SlotKind kind, std::vector<JobId> jobs) {
  if (kind != kReduceSlot || state.Running(TaskKind::kMap) > 0) return jobs;
  const Room room = RoomOn(state, Places::kThatTakeMaps);
  std::erase_if(jobs, [&](JobId job) { return IsMisfit(*state.FindJob(job), room); });
  return jobs;
}

std::uint32_t FairPreempting::TakeFree(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs,
                                       std::uint32_t most, Free* free) const {
  std::uint32_t taken = 0;
  for (auto& [node, left] : *free) {
    if (taken == most) break;
    if (left == 0) continue;
    const std::uint32_t here = std::min({most - taken, left, CouldUse(state, kind, jobs, node)});
    taken += here, left -= here;
  }
  return taken;
}

std::vector<FairPreempting::Need> FairPreempting::NeedsOfPools(const ClusterState& state, const std::vector<Lack>& due,
                                                               SlotKind kind, Free free) {
  std::vector<Need> needs;
  std::map<std::string_view, std::uint32_t> promised;
  for (const Lack& lack : due) {
    FairPool& pool = FairPool::Of(*lack.member);
    const bool minimum = lack.cause == Cause::kMinimum;
    const double share = minimum ? static_cast<double>(lack.member->claim().minimum) / static_cast<double>(kSlot)
                                 : order().pools(kind).Share(*lack.member);
    const std::uint32_t wanted = Holding::WholeSlots(share), has = pool.Running(kind) + promised[pool.name()];
    if (has >= wanted) continue;
    std::vector<JobId> jobs = ThatGoOn(state, kind, pool.AdmittedJobs());
    if (!CouldUseAny(state, kind, jobs)) continue;
    promised[pool.name()] += wanted - has;
    const std::uint32_t from_free = TakeFree(state, kind, jobs, wanted - has, &free);
    order().Owe(pool, kind, wanted);
    if (wanted - has == from_free) continue;
    needs.push_back({std::move(jobs), wanted - has - from_free,
                     "pool " + pool.name() + " is below its " + (minimum ? "minimum share" : "fair share"), lack});
  }
  return needs;
}

std::vector<FairPreempting::Need> FairPreempting::NeedsOfJobs(const ClusterState& state, const FairPool& pool,
                                                              const std::vector<Lack>& due,
                                                              const std::vector<JobHolding>& holdings, SlotKind kind,
                                                              Free* free) {
  std::vector<Need> needs;
  const std::uint32_t maximum = pool.Maximum(kind);
  std::uint32_t room = maximum - std::min(maximum, pool.Running(kind));
  for (const Lack& lack : due) {
    const JobId job{lack.member->id()};
    const Holding& slots = std::ranges::find(holdings, job, &JobHolding::job)->slots;
    const std::uint32_t wanted = Holding::WholeSlots(slots.share);
    if (slots.running >= wanted || !CouldUseAny(state, kind, ThatGoOn(state, kind, {job}))) continue;
    const std::uint32_t lacking = wanted - slots.running;
    const std::uint32_t from_free = TakeFree(state, kind, {job}, std::min(room, lacking), free);
    room -= from_free;
    if (lacking == from_free) continue;
    if (!order().IsOwed(job, kind)) order().Owe(job, kind, wanted);
    needs.push_back(
        {{job}, lacking - from_free, ToText(job) + " is below its fair share of pool " + pool.name(), lack, true});
  }
  return needs;
}

void FairPreempting::AddHoldings(const ClusterState& state, const FairPool& pool, SlotKind kind, std::size_t index,
                                 std::vector<JobHolding>* holdings) const {
  const double share = order().pools(kind).Share(pool.member(kind));
  const std::vector<JobId> jobs = pool.AdmittedJobs();
  const auto shares = JobShares(state, pool.order(), order().settings().Of<MlqSettings>(), kind, share, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    holdings->push_back({jobs[i], index, {state.FindJob(jobs[i])->running_attempts[kind], shares[i]}});
}

std::vector<Victim> FairPreempting::Take(const ClusterState& state, SlotKind kind, const std::vector<Need>& needs,
                                         std::vector<Holding> pools, std::vector<JobHolding> holdings) {
  std::vector<SlotNeed> wanted;
  for (const Need& need : needs) {
    const auto first =
        std::ranges::find_if(needs, [&](const Need& one) { return one.lack.member == need.lack.member; });
    wanted.push_back({need.slots, static_cast<std::size_t>(first - needs.begin()),
                      [this, &state, kind, &need](NodeId node) { return CouldUse(state, kind, need.jobs, node); }});
  }
  const std::vector<ChosenVictim> chosen =
      ChooseVictims(state, kind, std::move(wanted), std::move(pools), std::move(holdings), !fair().preempt_computing);
  std::vector<Victim> victims;
  for (const ChosenVictim& victim : chosen) {
    const Need& need = needs[victim.need];
    victims.push_back({victim.attempt, need.reason});
    const auto same = [&](const Served& served) {
      return served.lack.member == need.lack.member && served.lack.cause == need.lack.cause;
    };
    if (std::none_of(served_.begin(), served_.end(), same))
      served_.push_back(
          {need.of_job ? &job_clocks_[kind] : &pool_clocks_[kind], need.lack, need.lack.member->fair().running});
    if (need.of_job) {
      jobs_first_[kind].insert(need.jobs.front());
    } else {
      pools_first_[kind].insert(FairPool::Of(*need.lack.member).name());
    }
    if (kind == kReduceSlot) continue;
    (kind == kMapSlot ? freed_ : permits_taken_at_).push_back(victim.node);
  }
  return victims;
}

std::vector<Victim> FairPreempting::ForPools(const ClusterState& state, SlotKind kind, Micros now) {
  const std::vector<Lack> due = pool_clocks_[kind].Due(now);
  if (due.empty()) return {};
  for (const Lack& lack : due) pool_clocks_[kind].BeginAnew(lack, now);
  const std::vector<Need> needs = NeedsOfPools(state, due, kind, FreeOf(state, kind));
  if (needs.empty()) return {};
  std::vector<Holding> pools;
  std::vector<JobHolding> holdings;
  for (const auto& [name, pool] : order().live_pools()) {
    AddHoldings(state, *pool, kind, pools.size(), &holdings);
    pools.push_back({pool->Running(kind), order().pools(kind).Share(pool->member(kind))});
  }
  return Take(state, kind, needs, std::move(pools), std::move(holdings));
}

std::vector<Victim> FairPreempting::ForJobs(const ClusterState& state, SlotKind kind, Micros now) {
  std::map<std::string, std::vector<Lack>> due;  // by pool
  for (const Lack& lack : job_clocks_[kind].Due(now)) {
    job_clocks_[kind].BeginAnew(lack, now);
    due[order().PoolOf(JobId{lack.member->id()}).name()].push_back(lack);
  }
  if (due.empty()) return {};
  Free free = FreeOf(state, kind);
  std::vector<Victim> victims;
  for (const auto& [name, jobs] : due) {
    FairPool& pool = order().PoolOf(JobId{jobs.front().member->id()});
    std::vector<JobHolding> holdings;
    AddHoldings(state, pool, kind, 0, &holdings);
    const std::vector<Need> needs = NeedsOfJobs(state, pool, jobs, holdings, kind, &free);
    if (needs.empty()) continue;  // nothing is owed here, so nobody gives way (OweAgain)
    order().Owe(pool, kind, pool.Running(kind));
    // The pool gets back what it loses, so it may lose all.
    std::ranges::move(Take(state, kind, needs, {{pool.Running(kind), 0}}, std::move(holdings)),
                      std::back_inserter(victims));
  }
  return victims;
}

void FairPreempting::OnJobEnded(const ClusterState& state, JobId job) {
  for (std::set<JobId>& first : jobs_first_) first.erase(job);
  GreedyOver::OnJobEnded(state, job);
}

void FairPreempting::OweAgain(const ClusterState& state, SlotKind kind) {
  std::erase_if(pools_first_[kind], [this](const std::string& name) { return !order().live_pools().contains(name); });
  // Pools for which tasks were killed come first, since they might starve again otherwise.
  const bool owes_others = order().OwesAny(kind);
  for (const std::string& name : pools_first_[kind]) {
    if (owes_others) break;
    FairPool& pool = *order().live_pools().find(name)->second;
    const std::uint32_t due = Holding::WholeSlots(order().pools(kind).Share(pool.member(kind)));
    if (pool.Running(kind) < due) order().Owe(pool, kind, due);
  }
  // Pools below their minimum come first in any order, also among those that are owed slots.
  for (const auto& [name, pool] : order().live_pools()) {
    if (owes_others || !order().OwesAny(kind)) break;
    const auto minimum = static_cast<std::uint32_t>(pool->member(kind).claim().minimum / kSlot);
    if (pool->Running(kind) < minimum && !pool->Owed(kind)) order().Owe(*pool, kind, minimum);
  }
  std::map<std::string, std::vector<JobHolding>> holdings;  // by pool
  for (const JobId job : jobs_first_[kind]) {
    const FairPool& pool = order().PoolOf(job);
    auto [of_pool, first] = holdings.try_emplace(pool.name());
    if (first) AddHoldings(state, pool, kind, 0, &of_pool->second);
    const auto holding = std::ranges::find(of_pool->second, job, &JobHolding::job);
    if (holding == of_pool->second.end()) continue;
    const std::uint32_t due = Holding::WholeSlots(holding->slots.share);
    if (holding->slots.running < due) order().PutFirstInPool(job, kind, due);
  }
}

std::vector<Victim> FairPreempting::Preempt(const ClusterState& state, Micros now) {
  std::vector<Victim> victims;
  for (const SlotKind kind : Kinds()) {
    const auto pools = pool_clocks_[kind].NextDue(), jobs = job_clocks_[kind].NextDue();
    if (pools.value_or(now + 1) <= now || jobs.value_or(now + 1) <= now)
      std::ranges::move(ForStarved(state, kind, now), std::back_inserter(victims));
    OweAgain(state, kind);
  }
  return victims;
}

std::vector<Victim> FairPreempting::ForStarved(const ClusterState& state, SlotKind kind, Micros now) {
  watches_[kind]->Update(now);
  std::vector<Victim> taken = ForPools(state, kind, now);
  if (taken.empty()) return ForJobs(state, kind, now);
  // The shares of jobs are looked at once the pools have what was taken for them.
  for (const Lack& lack : job_clocks_[kind].Due(now)) job_clocks_[kind].Postpone(lack, now + 1);
  return taken;
}

std::optional<Decision> FairPreempting::NextFreed(const ClusterState& state) {
  while (!freed_.empty()) {
    const NodeId node = freed_.back();
    freed_.pop_back();
    if (!state.FreeNodes(TaskKind::kMap).Contains(node.value)) continue;
    std::optional<MapChoice> choice;
    const auto taker = order().OfferOwed(state, TaskKind::kMap, [&](JobId job) {
      choice = state.BestPendingMap(job, node);
      return choice.has_value();
    });
    if (taker) return Decision{{*taker, TaskKind::kMap, choice->map}, node, false, choice->locality};
  }
  return std::nullopt;
}

std::optional<Decision> FairPreempting::NextWherePermitWasTaken(const ClusterState& state, Micros now) {
  while (!permits_taken_at_.empty()) {
    const NodeId node = permits_taken_at_.back();
    permits_taken_at_.pop_back();
    if (!state.FreeNodes(TaskKind::kReduce).Contains(node.value)) continue;
    std::optional<std::uint32_t> reduce;
    const auto taker = order().Offer(state, kReduceSlot, now, [&](JobId job) {
      reduce = admission().NextReduce(state, job, node);
      return reduce.has_value();
    });
    if (taker) return Decision{{*taker, TaskKind::kReduce, *reduce}, node};
  }
  return std::nullopt;
}

std::optional<Decision> FairPreempting::Next(const ClusterState& state, Micros now) {
  if (auto map = NextFreed(state)) return map;
  if (auto reduce = NextWherePermitWasTaken(state, now)) return reduce;
  auto decision = Greedy::Next(state, now);
  if (decision) return decision;
  EndRound(now);
  return decision;
}

void FairPreempting::EndRound(Micros now) {
  round_ended_ = now;
  order().ForgetOwed();
  for (const Served& served : std::exchange(served_, {})) {
    if (served.lack.member->fair().running <= served.running && served.clocks->Runs(served.lack))
      served.clocks->Rest(served.lack, served.running);
  }
  for (const SlotKind kind : Kinds()) {
    pool_clocks_[kind].WakeThoseThatGained(now);
    job_clocks_[kind].WakeThoseThatGained(now);
    watches_[kind]->Update(now);
  }
}

std::optional<Micros> FairPreempting::NextWake(const ClusterState& state) const {
  std::optional<Micros> wake = Greedy::NextWake(state);
  for (const PerSlot<StarvationClocks>* clocks : {&pool_clocks_, &job_clocks_}) {
    for (const StarvationClocks& of : *clocks) {
      const auto due = of.NextDue();
      if (due) wake = std::min(wake.value_or(*due), *due);
    }
  }
  return wake;
}

PolicyView FairPreempting::View(const ClusterState& state, Micros now) const {
  PolicyView view = GreedyOver::View(state, now);
  view.facts.push_back(Fact::Seconds("fair.min_share_timeout", fair().min_share_timeout));
  view.facts.push_back(Fact::Seconds("fair.fair_share_timeout", fair().fair_share_timeout));
  for (const SlotKind kind : Kinds()) {
    for (const auto& [lack, until] : pool_clocks_[kind].waiting()) {
      const auto group = std::ranges::find(view.groups, lack.member->name(), &GroupView::name);
      const FairPool& pool = FairPool::Of(*lack.member);
      if (group == view.groups.end() || !CouldUseAny(state, kind, ThatGoOn(state, kind, pool.AdmittedJobs()))) continue;
      std::optional<Micros>& at = group->slots[kind.task()].preempts_at;
      at = std::min(at.value_or(until), until);
    }
  }
  return view;
}

}  // namespace millrace::sched
