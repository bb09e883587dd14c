#include "schedulers/policies/joss/joss.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "schedulers/cluster/ordered_bits.h"

namespace millrace::sched {
namespace {

std::string Decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

Joss::Joss(Assigner assigner, const JossSettings& settings) : Joss(assigner, settings, std::make_unique<JossFifo>()) {}

Joss::Joss(Assigner assigner, const JossSettings& settings, std::unique_ptr<JossFifo> listed)
    : assigner_(assigner),
      settings_(settings),
      listed_(listed.get()),
      fifo_(assigner == Assigner::kTask ? "joss-t" : "joss-j", std::move(listed), Admission()) {}

void Joss::Touch(JobId job) {
  if (!std::exchange(jobs_[job.value].dirty, true)) dirty_.push_back(job);
}

void Joss::OnJobSubmitted(const ClusterState& state, JobId job) {
  if (jobs_.size() <= job.value) jobs_.resize(job.value + 1);
  jobs_[job.value].alive = true;
  fifo_.OnJobSubmitted(state, job);
  Touch(job);
}

void Joss::OnJobPrioritySet(const ClusterState& state, JobId job) { fifo_.OnJobPrioritySet(state, job); }

void Joss::OnJobEnded(const ClusterState& state, JobId job) {
  fifo_.OnJobEnded(state, job);
  queues_.EraseJob(job);
  const bool dirty = jobs_[job.value].dirty;
  jobs_[job.value] = Job();
  jobs_[job.value].dirty = dirty;
}

void Joss::OnJobChanged(const ClusterState& state, JobId job) {
  fifo_.OnJobChanged(state, job);
  Touch(job);
}

void Joss::OnNodesChanged(const ClusterState& state) {
  fifo_.OnNodesChanged(state);
  if (assigner_ == Assigner::kJob) state.KeepLocalJobs();
  nodes_changed_ = true;
}

void Joss::ApplyChanges(const ClusterState& state) {
  if (std::exchange(nodes_changed_, false)) {
    centers_.Rebuild(state);
    for (Turns& turns : turns_) turns.node.resize(centers_.size());
    const bool spread = centers_.live() >= 2;
    if (std::exchange(spread_, spread) != spread) {
      PlaceAll(state);
    } else if (spread) {
      LeaveClosedCenters(state);
    }
  }
  for (const JobId job : dirty_) {
    Job& placing = jobs_[job.value];
    placing.dirty = false;
    if (!placing.alive) continue;
    if (!placing.placed) PlaceTasks(state, job);
    if (!listed_->IsListed(job)) Refresh(state, job);
  }
  dirty_.clear();
}

void Joss::PlaceAll(const ClusterState& state) {
  queues_ = JossQueues();
  std::vector<QueueKey> jobs(state.LiveJobs().begin(), state.LiveJobs().end());
  std::sort(jobs.begin(), jobs.end(),
            [](const QueueKey& a, const QueueKey& b) { return a.submit_order < b.submit_order; });
  for (const QueueKey& key : jobs) {
    listed_->Unlist(key.job);
    PlaceTasks(state, key.job);
  }
}

void Joss::PlaceTasks(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  jobs_[id.value].placed = true;
  const auto filtering = FilteringPercentage(job, settings_);
  if (!spread_ || !filtering) {
    listed_->List(state, id);
  } else {
    Bind(state, job, jobs_[id.value], *filtering);
  }
}

void Joss::Bind(const ClusterState& state, const JobState& job, Job& placing, double filtering) {
  const bool small = IsSmallJob(job.spec.maps.size(), state.live_nodes(), centers_.live());
  placing.by_blocks = !small || filtering <= ReduceHeavyThreshold(centers_.live());
  placing.queue = small ? 0 : ++last_queue_;
  const CenterId least = centers_.LeastLoaded(state, queues_, {TaskKind::kMap, TaskKind::kReduce});
  if (placing.by_blocks) {
    std::vector<std::vector<CenterId>> holders;
    holders.reserve(job.spec.maps.size());
    for (const MapInput& input : job.spec.maps) holders.push_back(centers_.Holders(state, input));
    JossPlan plan = PlaceByBlocks(holders, centers_.size(), least);
    placing.maps = std::move(plan.maps);
    placing.reduces = plan.reduces;
  } else {
    placing.maps.assign(job.spec.maps.size(), least);
    placing.reduces = least;
  }
  for (const TaskKind kind : kTaskKinds) QueueMissing(state, job, kind, JossQueues::End::kTail);
}

void Joss::LeaveClosedCenters(const ClusterState& state) {
  for (const TaskKind kind : kTaskKinds) {
    for (CenterId center = 0; center < centers_.size(); ++center) {
      if (queues_.Waiting(kind, center) == 0 || centers_.IsOpen(kind, center)) continue;
      const CenterId to = centers_.LeastLoaded(state, queues_, {kind});
      if (centers_.IsOpen(kind, to)) queues_.MoveAll(kind, center, to);
    }
  }
}

void Joss::Refresh(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  for (const TaskKind kind : kTaskKinds) {
    // Every task stands in one queue at most, so as many tasks that are all pending are all that are.
    const auto& shares = queues_.SharesOf(id, kind);
    const bool same = queues_.Waiting(id, kind) == job.Pending(kind).size() &&
                      std::all_of(shares.begin(), shares.end(),
                                  [&](const Share* share) { return job.Pending(kind).ContainsAll(share->tasks); });
    if (!same) {
      TakeGone(job, kind);
      QueueMissing(state, job, kind, JossQueues::End::kHead);
    }
    for (Share* share : queues_.SharesOf(id, kind)) {
      queues_.SetReady(*share, job.runnable[kind]);
    }
  }
}

// Tasks that were launched by another policy, or by a journal.
void Joss::TakeGone(const JobState& job, TaskKind kind) {
  for (Share* share : std::vector<Share*>(queues_.SharesOf(job.progress.job, kind))) {
    const std::vector<std::uint32_t> tasks(share->tasks.begin(), share->tasks.end());
    for (const std::uint32_t task : tasks) {
      if (!job.Pending(kind).Contains(task)) queues_.Remove(*share, task);
    }
  }
}

void Joss::QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, JossQueues::End end) {
  const JobId id = job.progress.job;
  std::map<std::pair<CenterId, bool>, OrderedBits> missing;  // by datacenter, and whether the data is there
  std::optional<CenterId> instead;
  for (const std::uint32_t index : job.Pending(kind)) {
    const TaskId task{id, kind, index};
    if (queues_.Find(task) != nullptr) continue;
    CenterId& home = Home(task);
    if (!centers_.IsOpen(kind, home)) {
      if (!instead) instead = centers_.LeastLoaded(state, queues_, {kind});
      home = *instead;
    }
    missing[{home, IsNear(state, job, task, home)}].Insert(index);
  }
  for (auto& [place, tasks] : missing) {
    Share& share = queues_.Put(end, id, kind, place.first, jobs_[id.value].queue, place.second, std::move(tasks));
    queues_.SetReady(share, job.runnable[kind]);
  }
}

CenterId& Joss::Home(const TaskId& task) {
  Job& job = jobs_[task.job.value];
  return task.kind == TaskKind::kMap ? job.maps[task.index] : job.reduces;
}

// joss-t does not look: its queues have one order.
bool Joss::IsNear(const ClusterState& state, const JobState& job, const TaskId& task, CenterId center) const {
  if (assigner_ == Assigner::kTask || task.kind == TaskKind::kReduce) return true;
  return centers_.Holds(state, job.spec.maps[task.index], center);
}

// --- Which task a free node is given ---

Policy::Limits Joss::BeginRound(const ClusterState& state, Micros now) {
  ApplyChanges(state);
  return fifo_.BeginRound(state, now);
}

std::optional<Decision> Joss::Next(const ClusterState& state, Micros now) {
  ApplyChanges(state);
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
    std::uint32_t node = OrderedBits::NextCommon(free, open, start);
    bool wrapped = false;
    while (true) {
      if (node == OrderedBits::kNone && !std::exchange(wrapped, true)) node = OrderedBits::NextCommon(free, open, 0);
      if (node == OrderedBits::kNone || (wrapped && node >= start)) break;
      const Pick pick = PickFor(state, kind, center, NodeId{node});
      if (pick.outcome == Outcome::kRequeuedElsewhere) {  // perhaps to a datacenter that was passed already
        i = 0;
        break;
      }
      if (pick.outcome == Outcome::kTake) {
        Home(pick.task) = center;
        queues_.Remove(*queues_.Find(pick.task), pick.task.index);
        turns.center = (center + 1) % centers_.size();
        turns.node[center] = node + 1;
        return Decision{pick.task, NodeId{node}};
      }
      node = OrderedBits::NextCommon(free, open, node + 1);
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
    if (pick.outcome == Outcome::kTake) queues_.EndTurn(kind, center, *queue);
    if (pick.outcome != Outcome::kSkip) return pick;
  }
  return {};
}

Joss::Pick Joss::PickFrom(const ClusterState& state, TaskKind kind, CenterId center, std::uint32_t queue, NodeId node) {
  if (assigner_ == Assigner::kJob && kind == TaskKind::kMap) {
    const Pick local = PickLocal(state, center, queue, node);
    if (local.outcome != Outcome::kSkip) return local;
  }
  const JossQueues::Queue& ready = queues_.ReadyShares(kind, center, queue);
  const Pick near = PickFirst(state, ready.near, node);
  return near.outcome != Outcome::kSkip ? near : PickFirst(state, ready.far, node);
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
    return pick.outcome == Outcome::kSkip;
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
    const Outcome outcome = Check(state, task, center, node, Locality::kNode);
    if (outcome != Outcome::kSkip) pick = {outcome, task};
    return outcome == Outcome::kSkip;
  });
  return pick;
}

Joss::Pick Joss::PickFirst(const ClusterState& state, const std::map<std::int64_t, Share*>& line, NodeId node) {
  for (const auto& [place, share] : line) {
    const JobState& job = *state.FindJob(share->job);
    if (!job.runnable[share->kind]) continue;
    for (const std::uint32_t index : share->tasks) {
      const TaskId task{share->job, share->kind, index};
      const Outcome outcome = Check(state, task, share->center, node, Locality::kOff);
      if (outcome != Outcome::kSkip) return {outcome, task};
      if (!state.Avoids(job, share->kind, index, node)) break;  // it is the job that may not have the node
    }
  }
  return {};
}

// A map that is known to be local has a replica in the datacenter, that of the node.
Joss::Outcome Joss::Check(const ClusterState& state, const TaskId& task, CenterId center, NodeId node, Locality known) {
  const JobState& job = *state.FindJob(task.job);
  const bool map = task.kind == TaskKind::kMap;
  const bool bound = map && known != Locality::kNode && jobs_[task.job.value].by_blocks;
  const bool lacks_space = map && state.LacksSpace(job, task.index, node);
  std::optional<CenterId> to;
  if (lacks_space || state.Refused(job, node) || state.Avoids(job, task.kind, task.index, node)) {
    if (!MayRunIn(state, task, center)) to = Elsewhere(state, task, center, false);
    if (!to) return Outcome::kSkip;
  } else if (bound && !centers_.Holds(state, job.spec.maps[task.index], center)) {
    to = Elsewhere(state, task, center, true);
  }
  if (!to) return Outcome::kTake;
  MoveTo(state, task, *to);
  return Outcome::kRequeuedElsewhere;
}

void Joss::MoveTo(const ClusterState& state, const TaskId& task, CenterId center) {
  Share& share = *queues_.Find(task);
  const std::uint32_t queue = share.queue;
  const bool ready = share.ready;
  queues_.Remove(share, task.index);
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

PolicyView Joss::View(const ClusterState& state, Micros now) const {
  PolicyView view = fifo_.View(state, now);
  view.facts.emplace_back("datacenters", std::to_string(centers_.live()));
  if (!spread_) {
    view.facts.emplace_back("runs as", "fifo: JoSS needs two datacenters");
    return view;
  }
  const std::uint32_t live = centers_.live();
  view.facts.emplace_back("small jobs", "up to " + std::to_string(state.live_nodes() / live) + " maps");
  view.facts.emplace_back("reduce-heavy", "above " + Decimal(ReduceHeavyThreshold(live)));
  for (CenterId center = 0; center < centers_.size(); ++center) {
    view.facts.emplace_back("datacenter " + std::to_string(center),
                            std::to_string(queues_.Waiting(TaskKind::kMap, center)) + " maps and " +
                                std::to_string(queues_.Waiting(TaskKind::kReduce, center)) + " reduces wait");
  }
  for (const TaskKind kind : kTaskKinds) {
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      const auto& shares = queues_.SharesOf(key.job, kind);
      if (shares.empty()) continue;
      view.waits.push_back({key.job, kind, "in the queue of datacenter " + std::to_string(shares.front()->center)});
    }
  }
  SortWaits(&view.waits);
  return view;
}

}  // namespace millrace::sched
