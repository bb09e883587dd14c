// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/greedy.h"

#include <algorithm>
#include <typeinfo>
#include <utility>
#include <vector>

#include "schedulers/offering/refusal_memory.h"
#include "schedulers/offering/slot_offers.h"

namespace millrace::sched {
namespace {

NodeId FirstInTurn(const OrderedBits& free, NodeId turn) {
  const std::uint32_t next = free.NextFrom(turn.value);
  return NodeId{next == OrderedBits::kNone ? free.First() : next};
}

}  // namespace

struct Greedy::Impl {
  Impl(std::string given_name, std::unique_ptr<JobOrder> given_order, Admission given_admission)
      : name(std::move(given_name)), order(std::move(given_order)), admission(std::move(given_admission)) {}

  Impl(const Impl& other, std::unique_ptr<JobOrder> given_order)
      : name(other.name),
        order(std::move(given_order)),
        admission(other.admission),
        offers(other.offers, order.get(), &admission),
        refusals(other.refusals),
        evicted(other.evicted),
        clock(other.clock) {}

  const std::string name;
  std::unique_ptr<JobOrder> order;  // empty only once TakeOrder has taken it
  Admission admission;
  SlotOffers offers{order.get(), &admission};
  RefusalMemory refusals{admission.copy() != nullptr};
  bool evicted = false;  // whether a job was evicted since the order's round began
  Micros clock = 0;      // the time of the last call of Next

  void BeginRound(const ClusterState& state, Micros now);
  std::optional<Decision> NextOf(const ClusterState& state, TaskKind kind, Micros now);
  std::optional<Decision> NextAtItsData(const ClusterState& state, JobId first, Micros now);
  // Returns the job of the map if the launch of the map stops the job's clock, else nothing.
  static std::optional<JobId> StopsClock(const ClusterState& state, const TaskId& map);
  bool PassOver(const ClusterState& state, NodeId node, Micros now, std::optional<JobId> launching);
  std::optional<Decision> NextIdle(const ClusterState& state, Micros now);
};

Greedy::Greedy(std::string name, std::unique_ptr<JobOrder> order, Admission admission)
    : impl_(std::make_unique<Impl>(std::move(name), std::move(order), std::move(admission))) {}

Greedy::Greedy(const Greedy& other, std::unique_ptr<JobOrder> order)
    : Policy(other), impl_(std::make_unique<Impl>(*other.impl_, std::move(order))) {}

Greedy::~Greedy() = default;

std::unique_ptr<JobOrder> Greedy::TakeOrder(std::unique_ptr<Policy> policy) {
  const Policy& of = *policy;
  return typeid(of) == typeid(Greedy) ? std::move(static_cast<Greedy&>(*policy).impl_->order) : nullptr;
}

std::unique_ptr<Policy> Greedy::Clone(const ClusterState& state) const {
  auto order = impl_->order->Clone(state);
  if (order == nullptr) return nullptr;
  return std::unique_ptr<Policy>(new Greedy(*this, std::move(order)));
}

JobOrder& Greedy::order() const { return *impl_->order; }

const Admission& Greedy::admission() const { return impl_->admission; }

std::string_view Greedy::name() const { return impl_->name; }

void Greedy::OnJobSubmitted(const ClusterState& state, JobId job) {
  impl_->order->OnJobSubmitted(state, job);
  impl_->admission.OnJobSubmitted(state, job);
  impl_->refusals.OnJobSubmitted(*state.FindJob(job));
  impl_->admission.OnMapsAdded(job);
  impl_->offers.Update(state, job, impl_->clock);
}

void Greedy::OnJobPrioritySet(const ClusterState& state, JobId job) {
  impl_->order->OnJobPrioritySet(state, job);
  impl_->offers.Update(state, job, impl_->clock);
}

void Greedy::OnJobEnded(const ClusterState& state, JobId job) {
  impl_->order->OnJobEnded(state, job);
  impl_->admission.OnJobEnded(state, job);
  impl_->offers.Forget(job);
  impl_->refusals.OnJobEnded(job);
}

void Greedy::OnJobChanged(const ClusterState& state, JobId job) {
  impl_->order->OnJobChanged(state, job);
  if (impl_->refusals.OnJobChanged(*state.FindJob(job))[TaskKind::kMap]) impl_->admission.OnMapsAdded(job);
  impl_->evicted |= state.FindJob(job)->held;
  impl_->offers.Update(state, job, impl_->clock);
}

void Greedy::OnNodesChanged(const ClusterState& state) {
  impl_->order->OnNodesChanged(state);
  impl_->refusals.OnNodesChanged(state);
  impl_->admission.OnNodesChanged(state);
  if (impl_->admission.locality() != nullptr) state.KeepLocalJobs();
  impl_->offers.UpdateAll();
}

NodeLimits Greedy::LimitsOf(const NodeState& node) const {
  return impl_->admission.LimitsOf(node, NodeLimits::Typed(node.slots));
}

void Greedy::Impl::BeginRound(const ClusterState& state, Micros now) {
  evicted = false;
  const PerSlot<bool> let_in = order->BeginRound(state, now);
  for (const TaskKind kind : kTaskKinds) {
    // When no map runs, a node may take a map that it has refused (ClusterState::BestPendingMap).
    if (let_in[kind] || (kind == TaskKind::kMap && state.Running(kind) == 0)) refusals[kind].Reset();
  }
}

Policy::Limits Greedy::BeginRound(const ClusterState& state, Micros now) {
  impl_->BeginRound(state, now);
  return Limits::kSame;
}

std::optional<AttemptId> Greedy::NextToCompute(const ClusterState& state, Micros now) {
  const auto first = impl_->order->Offer(state, kComputePermit, now, [](JobId) { return true; });
  return first ? std::optional(state.NextToCompute(*first)) : std::nullopt;
}

std::string Greedy::Refusal(const JobSpec& spec) const { return impl_->order->Refusal(spec); }

bool Greedy::MayHoldBack(const ClusterState& state, JobId job) const { return impl_->order->MayHoldBack(state, job); }

std::optional<Decision> Greedy::Next(const ClusterState& state, Micros now) {
  impl_->clock = now;
  if (LocalityGate* gate = impl_->admission.locality(); gate != nullptr) {
    for (const JobId job : gate->TakeRaised(state, now)) {
      impl_->offers.Update(state, job, now);
      impl_->refusals[TaskKind::kMap].MayAcceptMore(job);
    }
  }
  if (impl_->evicted) impl_->BeginRound(state, now);  // what the job held may let other jobs in
  for (const TaskKind kind : kTaskKinds) {
    if (auto decision = impl_->NextOf(state, kind, now)) return decision;
  }
  return std::nullopt;
}

std::optional<Decision> Greedy::Impl::NextOf(const ClusterState& state, TaskKind kind, Micros now) {
  const OrderedBits& free = state.FreeNodes(kind);
  if (free.empty() || state.RunnableJobs(kind).empty()) return std::nullopt;
  if (free.size() > 1) {
    const auto first = order->Offer(state, kind, now, [](JobId) { return true; });
    if (!first) return std::nullopt;
    if (kind == TaskKind::kMap) {
      if (auto decision = NextAtItsData(state, *first, now)) return decision;
    }
  }
  SlotRefusals& memory = refusals[kind];
  const NodeId first_in_turn = FirstInTurn(free, memory.turn());
  do {
    Decision decision;
    const auto node = memory.Walk(admission.NodesBeforeOthers(state, kind), free, [&](NodeId to, bool to_all) {
      return to_all ? offers.ToAll(state, kind, to, now, &decision)
                    : offers.ToAcceptingMore(state, kind, memory.accepting_more(), to, now, &decision);
    });
    if (node) {
      // The nodes before it in turn count as offered too, although no job that had refused them was asked again.
      if (kind == TaskKind::kMap && *node != first_in_turn)
        PassOver(state, first_in_turn, now, StopsClock(state, decision.task));
      return decision;
    }
  } while (kind == TaskKind::kMap && PassOver(state, first_in_turn, now, std::nullopt));
  return kind == TaskKind::kMap ? NextIdle(state, now) : std::nullopt;
}

std::optional<JobId> Greedy::Impl::StopsClock(const ClusterState& state, const TaskId& map) {
  const bool unlocated = state.FindJob(map.job)->pending_maps.unlocated().Contains(map.index);
  return unlocated ? std::nullopt : std::optional(map.job);
}

// Passes over the jobs that refused the node before they launched their last task. Its slot is still free, so it counts
// as offered to them again. Returns true if some of them may run farther from their data after that, so that slots have
// to be offered once more.
bool Greedy::Impl::PassOver(const ClusterState& state, NodeId node, Micros now, std::optional<JobId> launching) {
  const auto raised = offers.PassOver(state, node, now, launching);
  for (const JobId job : raised) refusals[TaskKind::kMap].MayAcceptMore(job);
  return !raised.empty();
}

// Serves a free node that holds the data of the first job's first pending map before its turn.
std::optional<Decision> Greedy::Impl::NextAtItsData(const ClusterState& state, JobId first, Micros now) {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  const JobState& job = *state.FindJob(first);
  std::optional<NodeId> at;
  for (const NodeId node : job.spec.maps[job.pending_maps.all().First()].replicas) {
    if (free.Contains(node.value) && (!at || node < *at)) at = node;
  }
  if (!at) return std::nullopt;
  const auto choice = admission.PeekMap(state, first, *at, now);
  if (!choice || choice->locality != Locality::kNode) return std::nullopt;
  admission.OnMapLaunched(state, first, *choice, now);
  offers.Update(state, first, now);
  return Decision{{first, TaskKind::kMap, choice->map}, *at, false, choice->locality};
}

// Offers slots that all jobs refused to the jobs with more maps than slots at their data.
std::optional<Decision> Greedy::Impl::NextIdle(const ClusterState& state, Micros now) {
  if (!offers.HasJobsBeyondLocalSlots(state)) return std::nullopt;
  Decision decision;
  const auto node = refusals[TaskKind::kMap].WalkAll(state.FreeNodes(TaskKind::kMap), [&](NodeId to) {
    return offers.ToJobsBeyondLocalSlots(state, to, now, &decision);
  });
  return node ? std::optional(decision) : std::nullopt;
}

bool Greedy::WaitsForSpace(const ClusterState& state, Micros now) const {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  const ClusterState::JobQueue& jobs = state.RunnableJobs(TaskKind::kMap);
  return std::any_of(jobs.begin(), jobs.end(), [&](const QueueKey& key) {
    return impl_->order->MayRun(state, TaskKind::kMap, key.job) &&
           std::any_of(free.begin(), free.end(), [&](std::uint32_t node) {
             return impl_->admission.LacksSpaceIfIdle(state, key.job, NodeId{node}, now);
           });
  });
}

bool Greedy::WantsSlots(const ClusterState& state, TaskKind kind, Micros now) const {
  return impl_->order->Offer(state, kind, now, [](JobId) { return true; }).has_value();
}

bool Greedy::MayRun(const ClusterState& state, TaskKind kind, JobId job) const {
  return impl_->order->MayRun(state, kind, job);
}

std::optional<Micros> Greedy::NextWake(const ClusterState& state) const {
  auto wake = impl_->order->NextWake(state);
  if (state.FreeNodes(TaskKind::kMap).empty()) return wake;  // nothing can start before an event frees a slot
  const auto gate = impl_->admission.NextWake(state);
  return wake && gate ? std::min(wake, gate) : std::max(wake, gate);
}

PolicyView Greedy::View(const ClusterState& state, Micros now) const {
  PolicyView view = impl_->order->View(state, now);
  impl_->admission.AddFacts(&view);
  for (const TaskKind kind : kTaskKinds) AddInTurn(state, kind, now, &view);
  return view;
}

void Greedy::AddInTurn(const ClusterState& state, TaskKind kind, Micros now, PolicyView* view) const {
  WaitView ahead;
  ahead.other_count = 0;
  impl_->order->Offer(state, kind, now, [&](JobId job) {
    view->waits.push_back(impl_->admission.WhyWaits(state, kind, job, now).Behind(ahead));
    ahead.AddOther(job);
    return false;
  });
}

}  // namespace millrace::sched
