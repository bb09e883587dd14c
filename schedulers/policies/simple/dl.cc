// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/dl.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::sched {

Dl::Dl(std::string name, Admission admission) : name_(std::move(name)), admission_(std::move(admission)) {}

Dl::Dl(const Dl& other)
    : Policy(other),
      name_(other.name_),
      admission_(other.admission_),
      reduce_order_(other.reduce_order_),
      reduces_(other.reduces_, &reduce_order_, &admission_),
      refusals_(other.refusals_),
      launched_(other.launched_) {}

void Dl::OnJobSubmitted(const ClusterState& state, JobId job) {
  admission_.OnJobSubmitted(state, job);
  refusals_.OnJobSubmitted(*state.FindJob(job));
  admission_.OnMapsAdded(job);
}

void Dl::OnJobEnded(const ClusterState& state, JobId job) {
  admission_.OnJobEnded(state, job);
  refusals_.OnJobEnded(job);
  launched_.erase(job);
}

void Dl::OnJobChanged(const ClusterState& state, JobId job) {
  if (refusals_.OnJobChanged(*state.FindJob(job))[TaskKind::kMap]) admission_.OnMapsAdded(job);
}

void Dl::OnNodesChanged(const ClusterState& state) {
  refusals_.OnNodesChanged(state);
  admission_.OnNodesChanged(state);
  state.KeepLocalJobs();
}

NodeLimits Dl::LimitsOf(const NodeState& node) const {
  return admission_.LimitsOf(node, NodeLimits::Typed(node.slots));
}

std::optional<Decision> Dl::Next(const ClusterState& state, Micros now) {
  if (auto map = NextMap(state, now)) return map;
  return NextReduce(state);
}

bool Dl::ConsumeRaised(const ClusterState& state, Micros now) {
  if (admission_.locality() == nullptr) return false;
  const std::vector<JobId> raised = admission_.locality()->TakeRaised(state, now);
  for (const JobId job : raised) refusals_[TaskKind::kMap].MayAcceptMore(job);
  return !raised.empty();
}

std::optional<Decision> Dl::NextMap(const ClusterState& state, Micros now) {
  SlotRefusals& memory = refusals_[TaskKind::kMap];
  // When no map runs, a node may take a map that it has refused (ClusterState::BestPendingMap).
  if (state.Running(TaskKind::kMap) == 0) memory.Reset();
  ConsumeRaised(state, now);
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  if (free.empty() || state.RunnableJobs(TaskKind::kMap).empty()) return std::nullopt;
  std::optional<Offer> taken;
  const auto walk = [&] {
    return memory.Walk(free, [&](NodeId to, bool to_all) {
      taken = to_all ? BestOfAll(state, to, now) : BestOfAcceptingMore(state, to, now);
      if (taken) return SlotRefusals::Answer::kTaken;
      // Space may come back unnoticed.
      return state.FindNode(to)->free_bytes ? SlotRefusals::Answer::kUnsure : SlotRefusals::Answer::kRefused;
    });
  };
  auto node = walk();
  if (!node && AskAgain(state, now)) node = walk();
  if (!node) return NextIdle(state);
  OnMapLaunched(state, taken->job, taken->choice, now);
  return Decision{{taken->job, TaskKind::kMap, taken->choice.map}, *node, false, taken->choice.locality};
}

void Dl::OnMapLaunched(const ClusterState& state, JobId job, const MapChoice& choice, Micros now) {
  admission_.OnMapLaunched(state, job, choice, now);
  if (admission_.locality() != nullptr) launched_.insert(job);
}

// A launch stops a job's clock. Slots on nodes that the job had refused may be free all along, or free again: it
// refuses one again, or else its wait would never end.
bool Dl::AskAgain(const ClusterState& state, Micros now) {
  bool takes = false;
  for (const JobId id : std::exchange(launched_, {})) {
    if (!state.FindJob(id)->runnable[TaskKind::kMap]) continue;
    if (!admission_.BestMap(state, id, NodeId{state.FreeNodes(TaskKind::kMap).First()}, now)) continue;
    refusals_[TaskKind::kMap].MayAcceptMore(id);
    takes = true;
  }
  return takes;
}

std::optional<Dl::Offer> Dl::BestOfAll(const ClusterState& state, NodeId node, Micros now) {
  std::optional<Offer> best;
  state.VisitLocalJobs(node, [&](JobId job) {
    const auto choice = admission_.PeekMap(state, job, node, now);
    if (choice && choice->locality == Locality::kNode) best = Offer{job, *choice};
    return !best;
  });
  if (best) return best;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    const auto choice = admission_.BestMap(state, key.job, node, now);
    if (choice && (!best || choice->locality < best->choice.locality)) best = Offer{key.job, *choice};
    if (best && best->choice.locality <= Locality::kRack) break;
  }
  return best;
}

std::optional<Dl::Offer> Dl::BestOfAcceptingMore(const ClusterState& state, NodeId node, Micros now) {
  std::optional<Offer> best;
  const auto rank = [&](const Offer& offer) {
    return std::tuple(offer.choice.locality, state.FindJob(offer.job)->key);
  };
  for (const JobId job : refusals_[TaskKind::kMap].accepting_more()) {
    if (!state.FindJob(job)->runnable[TaskKind::kMap]) continue;
    const auto choice = admission_.BestMap(state, job, node, now);
    if (!choice) continue;
    const Offer offer{job, *choice};
    if (!best || rank(offer) < rank(*best)) best = offer;
  }
  return best;
}

// Every job has refused what is free, for want of locality. Some have more maps than there are slots at their data.
std::optional<Decision> Dl::NextIdle(const ClusterState& state) {
  LocalityGate* gate = admission_.locality();
  if (gate == nullptr) return std::nullopt;
  std::vector<JobId> jobs;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    if (gate->Outnumbers(state, key.job)) jobs.push_back(key.job);
  }
  if (jobs.empty()) return std::nullopt;
  std::optional<Offer> best;
  const auto node = refusals_[TaskKind::kMap].WalkAll(state.FreeNodes(TaskKind::kMap), [&](NodeId to) {
    for (const JobId job : jobs) {
      const auto choice = admission_.BestIdleMap(state, job, to);
      if (choice && (!best || choice->locality < best->choice.locality)) best = Offer{job, *choice};
    }
    return best.has_value();
  });
  if (!node) return std::nullopt;
  return Decision{{best->job, TaskKind::kMap, best->choice.map}, *node, false, best->choice.locality};
}

std::optional<Decision> Dl::NextReduce(const ClusterState& state) {
  constexpr TaskKind kReduces = TaskKind::kReduce;
  SlotRefusals& memory = refusals_[kReduces];
  Decision decision;
  const OrderedBits& before = admission_.NodesBeforeOthers(state, kReduces);
  const auto node = memory.Walk(before, state.FreeNodes(kReduces), [&](NodeId to, bool to_all) {
    return to_all ? reduces_.ToAll(state, kReduces, to, 0, &decision)
                  : reduces_.ToAcceptingMore(state, kReduces, memory.accepting_more(), to, 0, &decision);
  });
  return node ? std::optional(decision) : std::nullopt;
}

bool Dl::WaitsForSpace(const ClusterState& state, Micros now) const {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  const ClusterState::JobQueue& jobs = state.RunnableJobs(TaskKind::kMap);
  return std::any_of(free.begin(), free.end(), [&](std::uint32_t node) {
    return std::any_of(jobs.begin(), jobs.end(), [&](const QueueKey& key) {
      return admission_.LacksSpaceIfIdle(state, key.job, NodeId{node}, now);
    });
  });
}

std::optional<Micros> Dl::NextWake(const ClusterState& state) const {
  if (state.FreeNodes(TaskKind::kMap).empty()) return std::nullopt;  // a slot that frees is an event
  return admission_.NextWake(state);
}

PolicyView Dl::View(const ClusterState& state, Micros now) const {
  PolicyView view;
  admission_.AddFacts(&view);
  const std::optional<Micros> gathered = GatheredAt();
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    WaitView& wait = view.waits.emplace_back(admission_.WhyWaits(state, TaskKind::kMap, key.job, now));
    wait.rule = WhoIsNext();
    if (!gathered || wait.cause != WaitCause::kUndecided) continue;
    wait.cause = WaitCause::kGathering;
    wait.until = gathered;
  }
  WaitView ahead;
  ahead.other_count = 0;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kReduce)) {
    view.waits.push_back(admission_.WhyWaits(state, TaskKind::kReduce, key.job, now).Behind(ahead));
    ahead.AddOther(key.job);
  }
  return view;
}

}  // namespace millrace::sched
