#include "schedulers/policies/fair/fair_preempting.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace millrace::sched {
namespace {

// Returns how many permits waiting reduces can have without anything being killed.
std::uint32_t FreePermits(const ClusterState& state) {
  std::uint32_t free = 0;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->HasFreePermit()) continue;
    free += std::min(node->Permits() - node->computing, static_cast<std::uint32_t>(node->copied.size()));
  }
  return free;
}

std::uint32_t FreeSlots(const ClusterState& state, TaskKind kind) {
  std::uint32_t free = 0;
  for (const std::uint32_t id : state.FreeNodes(kind)) {
    const NodeState& node = *state.FindNode(NodeId{id});
    free += std::min(node.limits.Of(kind) - node.Used(kind),
                     node.limits.total - node.Used(TaskKind::kMap) - node.Used(TaskKind::kReduce));
  }
  return free;
}

}  // namespace

FairPreempting::FairPreempting(std::string name, const Settings& settings, SlotKind reduces, Admission admission)
    : GreedyOver(std::move(name), std::make_unique<FairOrder>(settings, reduces), std::move(admission)),
      starved_{{Watch(kMapSlot), Watch(kReduceSlot), Watch(kComputePermit)}} {}

StarvedPools FairPreempting::Watch(SlotKind kind) {
  return {order().pools(kind), [this](const Lack& lack) { return Patience(lack); }};
}

std::span<const SlotKind> FairPreempting::Kinds() const {
  return std::span(kSlotKinds).first(order().reduces() == kComputePermit ? 3 : 2);
}

std::string FairPreempting::Reason(const FairPool& pool, Cause cause) {
  return "pool " + pool.name() + " is below its " + (cause == Cause::kMinimum ? "minimum share" : "fair share");
}

Micros FairPreempting::Patience(const Lack& lack) const {
  const FairSettings& fair = order().settings().Of<FairSettings>();
  if (lack.cause == Cause::kFairShare) return fair.fair_share_timeout;
  return order().PoolNamed(lack.pool).settings().min_share_timeout.value_or(fair.min_share_timeout);
}

std::vector<FairPreempting::Need> FairPreempting::Needs(const std::vector<Lack>& due, SlotKind kind, std::uint32_t free,
                                                        Micros now) {
  std::vector<Need> needs;
  std::map<const FairPool*, std::uint32_t> promised;
  for (const Lack& lack : due) {
    FairPool& pool = order().PoolNamed(lack.pool);
    starved_[kind].BeginAnew(lack, now);
    const double share = lack.cause == Cause::kMinimum
                             ? static_cast<double>(pool.member(kind).claim().minimum) / static_cast<double>(kSlot)
                             : order().pools(kind).Share(pool.member(kind));
    const std::uint32_t wanted = Holding::WholeSlots(share), has = pool.Running(kind) + promised[&pool];
    if (has >= wanted) continue;
    promised[&pool] += wanted - has;
    const std::uint32_t from_free = std::min(free, wanted - has);
    free -= from_free;
    if (wanted - has > from_free) needs.push_back({&pool, lack.cause, wanted, wanted - has - from_free});
  }
  return needs;
}

std::vector<AttemptId> FairPreempting::Choose(const ClusterState& state, SlotKind kind,
                                              const std::vector<Need>& needs) const {
  std::uint32_t wanted = 0;
  std::map<NodeId, std::uint32_t> wanted_at;
  for (const Need& need : needs) {
    wanted += need.slots;
    for (const JobId job : kind == kComputePermit ? need.pool->Jobs() : std::vector<JobId>()) {
      for (const CopiedReduce& reduce : state.FindJob(job)->copied_reduces) ++wanted_at[reduce.node];
    }
  }
  std::vector<Holding> pools;
  std::vector<JobHolding> holdings;
  for (const auto& [name, pool] : order().live_pools()) {
    const double share = order().pools(kind).Share(pool->member(kind));
    const std::vector<JobId> jobs = pool->Jobs();
    const auto shares = JobShares(state, pool->order(), order().settings().Of<MlqSettings>(), kind, share, jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::uint32_t running = state.FindJob(jobs[i])->running_attempts[kind];
      holdings.push_back({jobs[i], pools.size(), {running, shares[i]}});
    }
    pools.push_back({pool->Running(kind), share});
  }
  return ChooseVictims(state, kind, wanted, std::move(wanted_at), std::move(pools), std::move(holdings));
}

std::vector<Victim> FairPreempting::Preempt(const ClusterState& state, Micros now) {
  std::vector<Victim> victims;
  for (const SlotKind kind : Kinds()) {
    starved_[kind].Update(now);
    const std::vector<Lack> due = starved_[kind].Due(now);
    if (due.empty()) continue;
    const std::uint32_t free = kind == kComputePermit ? FreePermits(state) : FreeSlots(state, kind.task());
    const std::vector<Need> needs = Needs(due, kind, free, now);
    if (needs.empty()) continue;
    const std::vector<AttemptId> chosen = Choose(state, kind, needs);
    std::size_t next = 0;
    for (const Need& need : needs) {
      order().Owe(*need.pool, kind, need.target);
      for (std::uint32_t i = 0; i < need.slots && next < chosen.size(); ++i) {
        const AttemptId& victim = chosen[next++];
        victims.push_back({victim, Reason(*need.pool, need.cause)});
        if (kind != kMapSlot) continue;
        const TaskState& task = state.FindJob(victim.task.job)->maps[victim.task.index];
        freed_.push_back(task.Find(victim.number)->node);
      }
    }
  }
  return victims;
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

std::optional<Decision> FairPreempting::Next(const ClusterState& state, Micros now) {
  for (const SlotKind kind : Kinds()) starved_[kind].Update(now);
  if (auto map = NextFreed(state)) return map;
  auto decision = Greedy::Next(state, now);
  if (!decision) order().ForgetOwed();
  return decision;
}

std::optional<Micros> FairPreempting::NextWake(const ClusterState& state) const {
  std::optional<Micros> wake = Greedy::NextWake(state);
  for (const StarvedPools& starved : starved_) {
    const auto due = starved.NextDue();
    if (due) wake = std::min(wake.value_or(*due), *due);
  }
  return wake;
}

PolicyView FairPreempting::View(const ClusterState& state, Micros now) const {
  PolicyView view = GreedyOver::View(state, now);
  const FairSettings& fair = order().settings().Of<FairSettings>();
  view.facts.push_back(Fact::Seconds("fair.min_share_timeout", fair.min_share_timeout));
  view.facts.push_back(Fact::Seconds("fair.fair_share_timeout", fair.fair_share_timeout));
  for (const SlotKind kind : Kinds()) {
    for (const auto& [lack, until] : starved_[kind].waiting()) {
      const auto group = std::ranges::find(view.groups, lack.pool, &GroupView::name);
      if (group == view.groups.end()) continue;
      std::optional<Micros>& at = group->slots[kind.task()].preempts_at;
      at = std::min(at.value_or(until), until);
    }
  }
  return view;
}

}  // namespace millrace::sched
