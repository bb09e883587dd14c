// Joss: which task a free node is given.
#include <algorithm>

#include "schedulers/core/ordered_bits.h"
#include "schedulers/policies/joss/joss.h"

namespace millrace::sched {
namespace {

// The least common member that is at least `from`; kNone if there is none. Runs of one set without the other are passed
// in one step.
std::uint32_t NextInBoth(const OrderedBits& a, const OrderedBits& b, std::uint32_t from) {
  std::uint32_t of_a = a.NextFrom(from);
  while (of_a != OrderedBits::kNone) {
    const std::uint32_t of_b = b.NextFrom(of_a);
    if (of_b == of_a || of_b == OrderedBits::kNone) return of_b;
    of_a = a.NextFrom(of_b);
    if (of_a == of_b) return of_a;
  }
  return OrderedBits::kNone;
}

}  // namespace

Policy::Limits Joss::BeginRound(const ClusterState& state, Micros now) {
  Settle(state);
  return fifo_.BeginRound(state, now);
}

std::optional<Decision> Joss::Next(const ClusterState& state, Micros now) {
  Settle(state);
  if (auto decision = fifo_.Next(state, now)) return decision;
  if (!spread_) return std::nullopt;
  for (const TaskKind kind : kTaskKinds) {
    if (auto decision = NextOf(state, kind)) return decision;
  }
  return std::nullopt;
}

std::optional<Decision> Joss::NextOf(const ClusterState& state, TaskKind kind) {
  const OrderedBits& free = state.FreeNodes(kind);
  if (free.empty()) return std::nullopt;
  Turns& turns = turns_[kind];
  for (CenterId i = 0; i < centers_.size();) {
    const CenterId center = (turns.center + i++) % centers_.size();
    if (queues_.ReadyQueues(kind, center).empty()) continue;
    const OrderedBits& open = centers_.OpenNodes(kind, center);
    const std::uint32_t start = turns.node[center];
    std::uint32_t node = NextInBoth(free, open, start);
    bool wrapped = false;
    while (true) {
      if (node == OrderedBits::kNone && !std::exchange(wrapped, true)) node = NextInBoth(free, open, 0);
      if (node == OrderedBits::kNone || (wrapped && node >= start)) break;
      const Pick pick = PickFor(state, kind, center, NodeId{node});
      if (pick.answer == Answer::kMoved) {  // perhaps to a datacenter that was passed already
        i = 0;
        break;
      }
      if (pick.answer == Answer::kTake) {
        Home(pick.task) = center;
        queues_.Take(*queues_.Find(pick.task), pick.task.index);
        turns.center = (center + 1) % centers_.size();
        turns.node[center] = node + 1;
        return Decision{pick.task, NodeId{node}};
      }
      node = NextInBoth(free, open, node + 1);
    }
  }
  return std::nullopt;
}

bool Joss::LacksSpace(const ClusterState& state, const Share& share, NodeId node) {
  if (!state.BestMapLacksSpace(share.job, node)) return false;
  const JobState& job = *state.FindJob(share.job);
  return job.runnable[TaskKind::kMap] && std::any_of(share.tasks.begin(), share.tasks.end(), [&](std::uint32_t map) {
           return state.LacksSpace(job, map, node);
         });
}

bool Joss::WaitsForSpace(const ClusterState& state, Micros now) const {
  if (fifo_.WaitsForSpace(state, now)) return true;
  if (!spread_) return false;
  constexpr TaskKind kMap = TaskKind::kMap;
  for (CenterId center = 0; center < centers_.size(); ++center) {
    for (const std::uint32_t node : state.FreeNodes(kMap)) {
      if (!centers_.OpenNodes(kMap, center).Contains(node)) continue;
      const auto lacks = [&](const auto& placed) { return LacksSpace(state, *placed.second, NodeId{node}); };
      for (const std::uint32_t queue : queues_.ReadyQueues(kMap, center)) {
        const JossQueues::Queue& ready = queues_.ReadyShares(kMap, center, queue);
        if (std::any_of(ready.near.begin(), ready.near.end(), lacks)) return true;
        if (std::any_of(ready.far.begin(), ready.far.end(), lacks)) return true;
      }
    }
  }
  return false;
}

Joss::Pick Joss::PickFor(const ClusterState& state, TaskKind kind, CenterId center, NodeId node) {
  const auto& ready = queues_.ReadyQueues(kind, center);
  auto queue = ready.lower_bound(queues_.Turn(kind, center));
  for (std::size_t seen = 0; seen < ready.size(); ++seen, ++queue) {
    if (queue == ready.end()) queue = ready.begin();
    const Pick pick = PickFrom(state, kind, center, *queue, node);
    if (pick.answer == Answer::kTake) queues_.EndTurn(kind, center, *queue);
    if (pick.answer != Answer::kNot) return pick;
  }
  return {};
}

Joss::Pick Joss::PickFrom(const ClusterState& state, TaskKind kind, CenterId center, std::uint32_t queue, NodeId node) {
  if (assigner_ == Assigner::kJob && kind == TaskKind::kMap) {
    const Pick local = PickLocal(state, center, queue, node);
    if (local.answer != Answer::kNot) return local;
  }
  const JossQueues::Queue& ready = queues_.ReadyShares(kind, center, queue);
  const Pick near = PickFirst(state, ready.near, node);
  return near.answer != Answer::kNot ? near : PickFirst(state, ready.far, node);
}

Joss::Pick Joss::PickLocal(const ClusterState& state, CenterId center, std::uint32_t queue, NodeId node) {
  Pick pick;
  if (queue != 0) {  // of one job
    const JossQueues::Queue& ready = queues_.ReadyShares(TaskKind::kMap, center, queue);
    const JobId job = (ready.near.empty() ? ready.far : ready.near).begin()->second->job;
    return state.IsLocalJob(job, node) ? PickLocalOf(state, job, center, queue, node) : pick;
  }
  state.VisitLocalJobs(node, [&](JobId job) {
    pick = PickLocalOf(state, job, center, queue, node);
    return pick.answer == Answer::kNot;
  });
  return pick;
}

Joss::Pick Joss::PickLocalOf(const ClusterState& state, JobId job, CenterId center, std::uint32_t queue, NodeId node) {
  const auto in_queue = [&](const Share* share) {
    return share != nullptr && share->center == center && share->queue == queue && share->ready;
  };
  Pick pick;
  const auto& shares = queues_.SharesOf(job, TaskKind::kMap);
  if (std::none_of(shares.begin(), shares.end(), in_queue)) return pick;
  state.FindJob(job)->pending_maps.VisitAt(node, [&](std::uint32_t map) {
    const TaskId task{job, TaskKind::kMap, map};
    if (!in_queue(queues_.Find(task))) return true;
    const Answer answer = Check(state, task, center, node, Locality::kNode);
    if (answer != Answer::kNot) pick = {answer, task};
    return answer == Answer::kNot;
  });
  return pick;
}

Joss::Pick Joss::PickFirst(const ClusterState& state, const std::map<std::int64_t, Share*>& line, NodeId node) {
  for (const auto& [place, share] : line) {
    const JobState& job = *state.FindJob(share->job);
    if (!job.runnable[share->kind]) continue;
    for (const std::uint32_t index : share->tasks) {
      const TaskId task{share->job, share->kind, index};
      const Answer answer = Check(state, task, share->center, node, Locality::kOff);
      if (answer != Answer::kNot) return {answer, task};
      if (!state.Avoids(job, share->kind, index, node)) break;  // it is the job that may not have the node
    }
  }
  return {};
}

// A map that is known to be local has a replica in the datacenter, that of the node.
Joss::Answer Joss::Check(const ClusterState& state, const TaskId& task, CenterId center, NodeId node, Locality known) {
  const JobState& job = *state.FindJob(task.job);
  const bool map = task.kind == TaskKind::kMap;
  const bool bound = map && known != Locality::kNode && jobs_[task.job.value].by_blocks;
  const bool lacks_space = map && state.LacksSpace(job, task.index, node);
  std::optional<CenterId> to;
  if (lacks_space || state.Refused(job, node) || state.Avoids(job, task.kind, task.index, node)) {
    if (!MayRunIn(state, task, center)) to = Elsewhere(state, task, center, false);
    if (!to) return Answer::kNot;
  } else if (bound && !centers_.Holds(state, job.spec.maps[task.index], center)) {
    to = Elsewhere(state, task, center, true);
  }
  if (!to) return Answer::kTake;
  MoveTo(state, task, *to);
  return Answer::kMoved;
}

void Joss::MoveTo(const ClusterState& state, const TaskId& task, CenterId center) {
  Share& share = *queues_.Find(task);
  const std::uint32_t queue = share.queue;
  const bool ready = share.ready;
  queues_.Take(share, task.index);
  Home(task) = center;
  OrderedBits tasks;
  tasks.Insert(task.index);
  const bool near = IsNear(state, *state.FindJob(task.job), task, center);
  queues_.SetReady(queues_.Put(JossQueues::End::kHead, task.job, task.kind, center, queue, near, std::move(tasks)),
                   ready);
}

bool Joss::MayRunIn(const ClusterState& state, const TaskId& task, CenterId center) const {
  const JobState& job = *state.FindJob(task.job);
  const OrderedBits& open = centers_.OpenNodes(task.kind, center);
  return std::any_of(open.begin(), open.end(), [&](std::uint32_t node) {
    if (state.Refused(job, NodeId{node}) || state.Avoids(job, task.kind, task.index, NodeId{node})) return false;
    return task.kind == TaskKind::kReduce || !state.LacksSpace(job, task.index, NodeId{node});
  });
}

std::optional<CenterId> Joss::Elsewhere(const ClusterState& state, const TaskId& task, CenterId center,
                                        bool holding) const {
  std::optional<CenterId> best;
  std::uint64_t fewest = 0;
  for (CenterId other = 0; other < centers_.size(); ++other) {
    if (other == center || !MayRunIn(state, task, other)) continue;
    if (holding && !centers_.Holds(state, state.FindJob(task.job)->spec.maps[task.index], other)) continue;
    const std::uint64_t tasks = centers_.Unprocessed(state, queues_, other);
    if (best && tasks >= fewest) continue;
    best = other;
    fewest = tasks;
  }
  return best;
}

}  // namespace millrace::sched
