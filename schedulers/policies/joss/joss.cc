// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include "schedulers/cluster/ordered_bits.h"

namespace millrace::sched {
namespace {

constexpr TaskKind kMap = TaskKind::kMap;

// Returns true if maps of the share, which is ready, wait for space on the node.
bool LacksSpace(const ClusterState& state, const JossQueues::Share& share, NodeId node) {
  if (!state.BestMapLacksSpace(share.job, node)) return false;
  const JobState& job = *state.FindJob(share.job);
  return std::any_of(share.tasks.begin(), share.tasks.end(),
                     [&](std::uint32_t map) { return state.LacksSpace(job, map, node); });
}

}  // namespace

Joss::Joss(Assigner assigner, const JossSettings& settings)
    : GreedyOver(assigner == Assigner::kTask ? "joss-t" : "joss-j", std::make_unique<JossFifo>(), Admission()),
      assigner_(assigner),
      homes_(settings,
             assigner == Assigner::kTask ? JossHomes::QueueOrder::kAsTheyCame : JossHomes::QueueOrder::kByData) {}

std::unique_ptr<Policy> Joss::Clone(const ClusterState& state) const {
  return std::unique_ptr<Policy>(new Joss(*this, order().Clone(state)));
}

void Joss::OnJobSubmitted(const ClusterState& state, JobId job) {
  Greedy::OnJobSubmitted(state, job);
  homes_.OnJobSubmitted(job);
}

void Joss::OnJobEnded(const ClusterState& state, JobId job) {
  Greedy::OnJobEnded(state, job);
  homes_.OnJobEnded(job);
}

void Joss::OnJobChanged(const ClusterState& state, JobId job) {
  Greedy::OnJobChanged(state, job);
  homes_.OnJobChanged(job);
}

void Joss::OnNodesChanged(const ClusterState& state) {
  Greedy::OnNodesChanged(state);
  if (assigner_ == Assigner::kJob) state.KeepLocalJobs();
  homes_.OnNodesChanged();
}

Policy::Limits Joss::BeginRound(const ClusterState& state, Micros now) {
  homes_.Update(state, order());
  return Greedy::BeginRound(state, now);
}

std::optional<Decision> Joss::Next(const ClusterState& state, Micros now) {
  homes_.Update(state, order());
  if (auto decision = Greedy::Next(state, now)) return decision;
  if (!homes_.spread()) return std::nullopt;
  for (const TaskKind kind : kTaskKinds) {
    if (auto decision = NextOf(state, kind)) return decision;
  }
  return std::nullopt;
}

std::optional<Decision> Joss::NextOf(const ClusterState& state, TaskKind kind) {
  if (state.FreeNodes(kind).empty()) return std::nullopt;
  const CenterId centers = homes_.centers().size();
  turns_[kind].node.resize(centers);
  CenterId& turn = turns_[kind].center;
  for (CenterId passed = 0; passed < centers;) {
    const CenterId center = (turn + passed) % centers;
    const Answer answer = OfferIn(state, kind, center);
    if (answer.outcome == Outcome::kTaken) {
      turn = (center + 1) % centers;
      homes_.OnLaunched(answer.task);
      return Decision{answer.task, answer.node};
    }
    // A share that moved may wait in a datacenter that was passed already.
    passed = answer.outcome == Outcome::kMoved ? 0 : passed + 1;
  }
  return std::nullopt;
}

Joss::Answer Joss::OfferIn(const ClusterState& state, TaskKind kind, CenterId center) {
  if (homes_.queues().Ready(kind, center).empty()) return {};
  if (assigner_ == Assigner::kJob && kind == kMap) {
    const Answer at_data = OfferAtData(state, center);
    if (at_data.outcome != Outcome::kRefused) return at_data;
  }
  const OrderedBits& free = state.FreeNodes(kind);
  const OrderedBits& open = homes_.centers().OpenNodes(kind, center);
  std::uint32_t& turn = turns_[kind].node[center];
  const std::uint32_t parts[][2] = {{turn, OrderedBits::kNone}, {0, turn}};
  for (const auto& [begin, end] : parts) {
    for (std::uint32_t id = begin; (id = OrderedBits::NextCommon(free, open, id)) < end; ++id) {
      const Answer answer = OfferNode(state, kind, center, NodeId{id});
      if (answer.outcome == Outcome::kTaken) turn = id + 1;
      if (answer.outcome != Outcome::kRefused) return answer;
    }
  }
  return {};
}

Joss::Answer Joss::OfferAtData(const ClusterState& state, CenterId center) {
  const Queue& queue = *homes_.queues().InTurn(kMap, center);
  const Share& first = queue.second.First();
  std::optional<NodeId> at;
  for (const NodeId node : state.FindJob(first.job)->spec.maps[first.tasks.First()].replicas) {
    const bool free =
        state.FreeNodes(kMap).Contains(node.value) && homes_.centers().OpenNodes(kMap, center).Contains(node.value);
    if (free && (!at || node < *at)) at = node;
  }
  return at ? OfferToLocal(state, queue, *at) : Answer();
}

Joss::Answer Joss::OfferNode(const ClusterState& state, TaskKind kind, CenterId center, NodeId node) {
  const JossQueues::ReadyQueues& ready = homes_.queues().Ready(kind, center);
  auto queue = homes_.queues().InTurn(kind, center);
  for (std::size_t asked = 0; asked < ready.size(); ++asked, ++queue) {
    if (queue == ready.end()) queue = ready.begin();
    const Answer answer = OfferToQueue(state, kind, *queue, node);
    if (answer.outcome != Outcome::kRefused) return answer;
  }
  return {};
}

Joss::Answer Joss::OfferToQueue(const ClusterState& state, TaskKind kind, const Queue& queue, NodeId node) {
  if (assigner_ == Assigner::kJob && kind == kMap) {
    const Answer local = OfferToLocal(state, queue, node);
    if (local.outcome != Outcome::kRefused) return local;
  }
  const Answer near = OfferToFirst(state, queue.second.near, node);
  return near.outcome != Outcome::kRefused ? near : OfferToFirst(state, queue.second.far, node);
}

Joss::Answer Joss::OfferToLocal(const ClusterState& state, const Queue& queue, NodeId node) {
  const Share& first = queue.second.First();
  const auto in_queue = [&, center = first.center](const Share* share) {
    return share != nullptr && share->center == center && share->queue == queue.first && share->ready;
  };
  Answer answer;
  const auto offer_to = [&](JobId job) {
    const auto& shares = homes_.queues().SharesOf(job, kMap);
    if (std::none_of(shares.begin(), shares.end(), in_queue)) return true;
    state.FindJob(job)->pending_maps.VisitAt(node, [&](std::uint32_t map) {
      const TaskId task{job, kMap, map};
      if (in_queue(homes_.queues().Find(task))) answer = {Check(state, task, node, true), task, node};
      return answer.outcome == Outcome::kRefused;
    });
    return answer.outcome == Outcome::kRefused;
  };
  if (queue.first == JossQueues::kShared) {
    state.VisitLocalJobs(node, offer_to);
  } else if (state.IsLocalJob(first.job, node)) {
    offer_to(first.job);
  }
  return answer;
}

Joss::Answer Joss::OfferToFirst(const ClusterState& state, const std::map<std::int64_t, Share*>& line, NodeId node) {
  for (const auto& [place, share] : line) {
    const JobState& job = *state.FindJob(share->job);
    const bool maps = share->kind == kMap;
    std::uint64_t too_large = std::numeric_limits<std::uint64_t>::max();  // the least output that does not fit
    for (const std::uint32_t index : share->tasks) {
      if (maps && job.ExpectedOutput(index) >= too_large) continue;
      const TaskId task{share->job, share->kind, index};
      const Outcome outcome = Check(state, task, node, false);
      if (outcome != Outcome::kRefused) return {outcome, task, node};
      if (state.Refused(job, node)) break;  // so may none behind it
      if (maps && state.LacksSpace(job, index, node)) too_large = job.ExpectedOutput(index);
    }
  }
  return {};
}

Joss::Outcome Joss::Check(const ClusterState& state, const TaskId& task, NodeId node, bool at_data) {
  if (!JossCenters::MayRun(state, task, node))
    return homes_.MoveToOpenNodes(state, task) ? Outcome::kMoved : Outcome::kRefused;
  return !at_data && homes_.MoveToItsBlock(state, task) ? Outcome::kMoved : Outcome::kTaken;
}

bool Joss::WaitsForSpace(const ClusterState& state, Micros now) const {
  if (Greedy::WaitsForSpace(state, now)) return true;
  if (!homes_.spread()) return false;
  for (CenterId center = 0; center < homes_.centers().size(); ++center) {
    for (const std::uint32_t node : state.FreeNodes(kMap)) {
      if (!homes_.centers().OpenNodes(kMap, center).Contains(node)) continue;
      const auto lacks = [&](const auto& placed) { return LacksSpace(state, *placed.second, NodeId{node}); };
      for (const auto& [number, ready] : homes_.queues().Ready(kMap, center)) {
        if (std::any_of(ready.near.begin(), ready.near.end(), lacks)) return true;
        if (std::any_of(ready.far.begin(), ready.far.end(), lacks)) return true;
      }
    }
  }
  return false;
}

bool Joss::WantsSlots(const ClusterState& state, TaskKind kind, Micros) const {
  return !state.RunnableJobs(kind).empty();
}

PolicyView Joss::View(const ClusterState& state, Micros now) const {
  PolicyView view = Greedy::View(state, now);
  const std::uint32_t live = homes_.centers().live();
  view.facts.push_back(Fact::Number("datacenters", live));
  if (!homes_.spread()) {
    view.facts.push_back(Fact::Words("runs as", "fifo: JoSS needs two datacenters"));
    return view;
  }
  const JossQueues& queues = homes_.queues();
  const std::uint32_t most_maps = state.live_nodes() / live;
  view.facts.push_back(Fact::Number("maps of a small job, at most", most_maps));
  view.facts.push_back(Fact::Number("reduce-heavy above map output / input of", ReduceHeavyThreshold(live)));
  for (CenterId center = 0; center < homes_.centers().size(); ++center) {
    const std::string name = " that wait in datacenter " + std::to_string(center);
    view.facts.push_back(Fact::Number("maps" + name, queues.Waiting(kMap, center)));
    view.facts.push_back(Fact::Number("reduces" + name, queues.Waiting(TaskKind::kReduce, center)));
  }
  for (const TaskKind kind : kTaskKinds) {
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      const auto& shares = queues.SharesOf(key.job, kind);
      if (!shares.empty()) view.waits.push_back(WhyWaitsAtHome(state, kind, key.job, now));
    }
  }
  return view;
}

WaitView Joss::WhyWaitsAtHome(const ClusterState& state, TaskKind kind, JobId job, Micros now) const {
  WaitView wait = Admission().WhyWaits(state, kind, job, now);
  const std::vector<Share*>& shares = homes_.queues().SharesOf(job, kind);
  wait.group = std::to_string(shares.front()->center);
  wait.rule = "to the queues of its datacenter in turn; it waits in that of datacenter " + wait.group;
  const OrderedBits& free = state.FreeNodes(kind);
  if (free.empty()) return wait;
  wait.of = 0;
  bool may_run = false;
  for (const std::uint32_t id : free) {
    const NodeId node{id};
    if (std::ranges::none_of(
            shares, [&](const Share* share) { return homes_.centers().OpenNodes(kind, share->center).Contains(id); })) {
      continue;
    }
    ++wait.of;
    may_run |=
        kind == kMap ? state.BestPendingMap(job, node).has_value() : state.NextPendingReduce(job, node).has_value();
  }
  if (wait.of == 0) {
    wait.cause = WaitCause::kElsewhere;
  } else if (!may_run && wait.cause == WaitCause::kUndecided) {
    wait.cause = WaitCause::kOffNodes;
  }
  return wait;
}

}  // namespace millrace::sched
