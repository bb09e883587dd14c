#include "schedulers/policies/simple/dl.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {}  // namespace

Dl::Dl(std::string name, Admission admission) : name_(std::move(name)), admission_(std::move(admission)) {}

void Dl::OnJobSubmitted(const ClusterState& state, JobId job) {
  admission_.OnJobSubmitted(state, job);
  if (seen_.size() <= job.value) seen_.resize(job.value + 1);
  See(*state.FindJob(job));
}

void Dl::OnJobEnded(const ClusterState& state, JobId job) {
  admission_.OnJobEnded(state, job);
  launched_.erase(job);
  for (RefusalMemory& memory : refusals_) memory.Forget(job);
}

void Dl::OnJobChanged(const ClusterState& state, JobId job) { See(*state.FindJob(job)); }

void Dl::OnNodesChanged(const ClusterState& state) {
  for (RefusalMemory& memory : refusals_) memory.Reset(state.node_ids());
  state.KeepLocalJobs();
}

NodeLimits Dl::LimitsOf(const NodeState& node) const {
  return admission_.LimitsOf(node, NodeLimits::Typed(node.slots));
}

// A job that only launched and finished tasks takes no slot that it refused before; whatever else happened, it might.
void Dl::See(const JobState& job) {
  const JobId id = job.progress.job;
  Seen now;
  for (const TaskKind kind : kTaskKinds) {
    now.pending[kind] = job.Pending(kind).size();
    now.running[kind] = job.running_attempts[kind];
    now.runnable[kind] = job.runnable[kind];
  }
  now.failed = job.Failures();
  now.done = job.progress.maps_done + job.progress.reduces_done;
  const Seen was = std::exchange(seen_[id.value], now);
  for (const TaskKind kind : kTaskKinds) {
    if (!now.runnable[kind]) continue;
    const bool replicas_moved = was == now;
    // With `+ccs` a reduce that begins to compute, or ends, lets another copy.
    const bool may_copy = kind == TaskKind::kReduce && admission_.copy() != nullptr;
    if (!was.runnable[kind] || now.pending[kind] > was.pending[kind] || now.failed != was.failed || replicas_moved ||
        may_copy) {
      refusals_[kind].MayAcceptMore(id);
    }
  }
  if (admission_.locality() != nullptr && now.pending[TaskKind::kMap] < was.pending[TaskKind::kMap])
    launched_.insert(id);
}

std::optional<Decision> Dl::Next(const ClusterState& state, Micros now) {
  if (auto map = NextMap(state, now)) return map;
  return NextReduce(state);
}

bool Dl::TakeRaised(const ClusterState& state, Micros now) {
  if (admission_.locality() == nullptr) return false;
  const std::vector<JobId> raised = admission_.locality()->TakeRaised(state, now);
  for (const JobId job : raised) refusals_[TaskKind::kMap].MayAcceptMore(job);
  return !raised.empty();
}

std::optional<Decision> Dl::NextMap(const ClusterState& state, Micros now) {
  RefusalMemory& memory = refusals_[TaskKind::kMap];
  TakeRaised(state, now);
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  if (free.empty() || state.RunnableJobs(TaskKind::kMap).empty()) return std::nullopt;
  std::optional<Offer> taken;
  const auto walk = [&] {
    return memory.Walk(free, [&](NodeId to, bool to_all) {
      taken = to_all ? BestOfAll(state, to, now) : BestOfAcceptingMore(state, to, now);
      if (taken) return RefusalMemory::Answer::kTaken;
      // Space may come back unnoticed.
      return state.FindNode(to)->free_bytes ? RefusalMemory::Answer::kUnsure : RefusalMemory::Answer::kRefused;
    });
  };
  auto node = walk();
  if (!node && AskAgain(state, now)) node = walk();
  if (!node) return NextIdle(state);
  admission_.OnMapLaunched(state, taken->job, taken->choice.locality, now);
  return Decision{{taken->job, TaskKind::kMap, taken->choice.map}, *node, false, taken->choice.locality};
}

// A launch stops a job's clock. Slots on nodes that the job had refused may be free all along, or free again: it
// refuses one anew, or else its wait would never end.
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

// All refused what is free, for want of locality; some have more to do than local slots will come.
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
  const OrderedBits& free = state.FreeNodes(TaskKind::kReduce);
  if (free.empty() || state.RunnableJobs(TaskKind::kReduce).empty()) return std::nullopt;
  Decision decision;
  const auto take = [&](JobId job, NodeId node) {
    const auto reduce = admission_.NextReduce(state, job, node);
    if (reduce) decision = {{job, TaskKind::kReduce, *reduce}, node};
    return reduce.has_value();
  };
  const auto node = refusals_[TaskKind::kReduce].Walk(free, [&](NodeId to, bool to_all) {
    if (to_all) {
      for (const QueueKey& key : state.RunnableJobs(TaskKind::kReduce)) {
        if (take(key.job, to)) return RefusalMemory::Answer::kTaken;
      }
      return RefusalMemory::Answer::kRefused;
    }
    std::vector<QueueKey> jobs;
    for (const JobId job : refusals_[TaskKind::kReduce].accepting_more()) {
      if (state.FindJob(job)->runnable[TaskKind::kReduce]) jobs.push_back(state.FindJob(job)->key);
    }
    std::sort(jobs.begin(), jobs.end());
    const bool taken = std::any_of(jobs.begin(), jobs.end(), [&](const QueueKey& key) { return take(key.job, to); });
    return taken ? RefusalMemory::Answer::kTaken : RefusalMemory::Answer::kRefused;
  });
  return node ? std::optional(decision) : std::nullopt;
}

bool Dl::WaitsForSpace(const ClusterState& state, Micros now) const {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  const ClusterState::JobQueue& jobs = state.RunnableJobs(TaskKind::kMap);
  return std::any_of(free.begin(), free.end(), [&](std::uint32_t node) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](const QueueKey& key) { return admission_.LacksSpace(state, key.job, NodeId{node}, now); });
  });
}

std::optional<Micros> Dl::NextWake(const ClusterState& state) const {
  if (state.FreeNodes(TaskKind::kMap).empty()) return std::nullopt;  // a slot that frees is an event
  return admission_.NextWake(state);
}

std::string Dl::WaitReason(const ClusterState& state, TaskKind kind, JobId job, Micros now) const {
  if (state.Capacity(kind) == 0) return "no slot of that kind";
  if (state.FreeNodes(kind).empty()) return "below its turn";
  if (kind == TaskKind::kMap) {
    if (auto reason = WhyMapsWait(now)) return *reason;
    const LocalityGate* gate = admission_.locality();
    if (const auto since = gate != nullptr ? gate->WaitingSince(job) : std::nullopt) {
      const Micros tenths = (now - *since) / 100'000;
      return "waiting for a local slot since " + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
    }
  }
  return "no free node takes it";
}

PolicyView Dl::View(const ClusterState& state, Micros now) const {
  PolicyView view;
  for (const TaskKind kind : kTaskKinds) {
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      view.waits.push_back({key.job, kind, WaitReason(state, kind, key.job, now)});
    }
  }
  std::sort(view.waits.begin(), view.waits.end(),
            [](const WaitView& a, const WaitView& b) { return std::tie(a.job, a.kind) < std::tie(b.job, b.kind); });
  return view;
}

}  // namespace millrace::sched
