// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/reference.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {
namespace {

// Returns the numbers so that those from `turn` on come first. Requires: they rise.
std::vector<std::uint32_t> InTurn(std::vector<std::uint32_t> numbers, std::uint32_t turn) {
  std::rotate(numbers.begin(), std::lower_bound(numbers.begin(), numbers.end(), turn), numbers.end());
  return numbers;
}

std::vector<std::uint32_t> CentersOf(const ClusterState& state) {
  std::vector<std::uint32_t> centers;
  for (std::uint32_t center = 0; center < state.topology().datacenters(); ++center) centers.push_back(center);
  return centers;
}

std::vector<const NodeState*> NodesOf(const ClusterState& state, CenterId center) {
  std::vector<const NodeState*> nodes;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node != nullptr && node->alive && node->location.datacenter == center) nodes.push_back(node);
  }
  return nodes;
}

// Returns the nodes of the datacenter that have slots of the kind and take tasks.
std::vector<std::uint32_t> OpenNodes(const ClusterState& state, TaskKind kind, CenterId center) {
  std::vector<std::uint32_t> open;
  for (const NodeState* node : NodesOf(state, center)) {
    if (node->TakesTasks() && node->limits.Of(kind) > 0) open.push_back(node->id.value);
  }
  return open;
}

bool IsOpen(const ClusterState& state, TaskKind kind, CenterId center) {
  return !OpenNodes(state, kind, center).empty();
}

std::uint32_t LiveCenters(const ClusterState& state) {
  std::uint32_t live = 0;
  for (const CenterId center : CentersOf(state)) live += NodesOf(state, center).empty() ? 0 : 1;
  return live;
}

// Returns true if a live node of the datacenter has a replica.
bool Holds(const ClusterState& state, const MapInput& input, CenterId center) {
  const auto nodes = NodesOf(state, center);
  return std::any_of(nodes.begin(), nodes.end(), [&](const NodeState* node) {
    return std::find(input.replicas.begin(), input.replicas.end(), node->id) != input.replicas.end();
  });
}

bool MayRun(const ClusterState& state, const TaskId& task, NodeId node) {
  const JobState& job = *state.FindJob(task.job);
  if (state.Refused(job, node) || state.Avoids(job, task.kind, task.index, node)) return false;
  return task.kind == TaskKind::kReduce || !state.LacksSpace(job, task.index, node);
}

bool MayRunIn(const ClusterState& state, const TaskId& task, CenterId center) {
  const auto open = OpenNodes(state, task.kind, center);
  return std::any_of(open.begin(), open.end(), [&](std::uint32_t node) { return MayRun(state, task, NodeId{node}); });
}

}  // namespace

void JossReference::OnJobEnded(JobId job) {
  jobs_.erase(job);
  for (auto& [id, queue] : queues_) std::erase_if(queue, [&](const Batch& batch) { return batch.job == job; });
}

bool JossReference::IsUnknown(const JobState& job) const { return !spread_ || !FilteringPercentage(job, settings_); }

// --- Where tasks belong ---

void JossReference::ApplyChanges(const ClusterState& state) {
  const bool spread = LiveCenters(state) >= 2;
  if (std::exchange(spread_, spread) != spread) {
    jobs_.clear();
    queues_.clear();
    queue_turn_.clear();
    std::map<std::uint64_t, JobId> by_submission;
    for (const QueueKey& key : state.LiveJobs()) by_submission[key.submit_order] = key.job;
    for (const auto& [order, job] : by_submission) Place(state, *state.FindJob(job));
  }
  if (spread) LeaveClosedCenters(state);
  for (const JobId id : std::exchange(changed_, {})) {
    const JobState* job = state.FindJob(id);
    if (job == nullptr || !job->alive()) continue;
    if (!jobs_.contains(id)) Place(state, *job);
    if (!jobs_.contains(id)) continue;
    for (const TaskKind kind : kTaskKinds) {
      RemoveGone(*job, kind);
      QueueMissing(state, *job, kind, true);
    }
  }
}

void JossReference::Place(const ClusterState& state, const JobState& job) {
  if (IsUnknown(job)) return;
  const std::uint32_t live = LiveCenters(state);
  const bool small = IsSmallJob(job.spec.maps.size(), state.live_nodes(), live);
  const CenterId least = LeastLoaded(state, {TaskKind::kMap, TaskKind::kReduce});
  Job& placed = jobs_[job.progress.job];
  placed.queue = small ? 0 : ++last_queue_;
  placed.by_blocks = !small || *FilteringPercentage(job, settings_) <= ReduceHeavyThreshold(live);
  placed.maps.assign(job.spec.maps.size(), least);
  placed.reduces = least;
  if (placed.by_blocks) {
    std::vector<std::vector<CenterId>> holders(job.spec.maps.size());
    for (std::size_t map = 0; map < holders.size(); ++map) {
      for (const CenterId center : CentersOf(state)) {
        const bool holds = IsOpen(state, TaskKind::kMap, center) && Holds(state, job.spec.maps[map], center);
        if (holds) holders[map].push_back(center);
      }
    }
    JossPlan plan = PlaceByBlocks(holders, state.topology().datacenters(), least);
    placed.maps = plan.maps;
    placed.reduces = plan.reduces;
  }
  for (const TaskKind kind : kTaskKinds) QueueMissing(state, job, kind, false);
}

void JossReference::LeaveClosedCenters(const ClusterState& state) {
  for (const TaskKind kind : kTaskKinds) {
    for (const CenterId center : CentersOf(state)) {
      const CenterId to = LeastLoaded(state, {kind});
      if (IsOpen(state, kind, center) || !IsOpen(state, kind, to)) continue;
      for (auto& [id, queue] : queues_) {
        const auto& [of_kind, of_center, number] = id;
        if (of_kind != kind || of_center != center) continue;
        for (const Batch& batch : std::exchange(queue, {})) queues_[{kind, to, number}].push_back(batch);
      }
    }
  }
}

void JossReference::RemoveGone(const JobState& job, TaskKind kind) {
  for (std::uint32_t index = 0; index < job.Tasks(kind).size(); ++index) {
    if (!job.Pending(kind).Contains(index)) Remove({job.progress.job, kind, index});
  }
}

void JossReference::QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, bool at_head) {
  const CenterId instead = LeastLoaded(state, {kind});
  std::map<CenterId, std::set<std::uint32_t>> missing;
  for (const std::uint32_t index : job.Pending(kind)) {
    const TaskId task{job.progress.job, kind, index};
    if (IsQueued(task)) continue;
    CenterId& home = Home(task);
    if (!IsOpen(state, kind, home)) home = instead;
    missing[home].insert(index);
  }
  Put(state, kind, missing, job, at_head);
}

void JossReference::Put(const ClusterState& state, TaskKind kind,
                        const std::map<CenterId, std::set<std::uint32_t>>& tasks, const JobState& job, bool at_head) {
  const JobId id = job.progress.job;
  const bool by_data = assigner_ == Joss::Assigner::kJob && kind == TaskKind::kMap;
  for (const auto& [center, indices] : tasks) {
    std::deque<Batch>& queue = queues_[{kind, center, jobs_.at(id).queue}];
    Batch near{id, true, {}}, far{id, false, {}};
    for (const std::uint32_t index : indices) {
      Batch& batch = !by_data || Holds(state, job.spec.maps[index], center) ? near : far;
      batch.tasks.insert(index);
    }
    for (const Batch& batch : {near, far}) {
      if (!batch.tasks.empty()) queue.insert(at_head ? queue.begin() : queue.end(), batch);
    }
  }
}

void JossReference::Remove(const TaskId& task) {
  for (auto& [id, queue] : queues_) {
    if (std::get<TaskKind>(id) != task.kind) continue;
    for (Batch& batch : queue) {
      if (batch.job == task.job) batch.tasks.erase(task.index);
    }
    std::erase_if(queue, [](const Batch& batch) { return batch.tasks.empty(); });
  }
}

CenterId& JossReference::Home(const TaskId& task) {
  Job& job = jobs_.at(task.job);
  return task.kind == TaskKind::kMap ? job.maps[task.index] : job.reduces;
}

bool JossReference::IsIn(const QueueId& queue, const TaskId& task) const {
  const auto at = queues_.find(queue);
  if (at == queues_.end() || std::get<TaskKind>(queue) != task.kind) return false;
  return std::any_of(at->second.begin(), at->second.end(),
                     [&](const Batch& batch) { return batch.job == task.job && batch.tasks.contains(task.index); });
}

bool JossReference::IsQueued(const TaskId& task) const {
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) { return IsIn(queue.first, task); });
}

std::uint64_t JossReference::Unprocessed(const ClusterState& state, CenterId center) const {
  std::uint64_t tasks = 0;
  for (const auto& [id, queue] : queues_) {
    if (std::get<1>(id) != center) continue;
    for (const Batch& batch : queue) tasks += batch.tasks.size();
  }
  for (const NodeState* node : NodesOf(state, center)) tasks += node->running.size();
  return tasks;
}

CenterId JossReference::LeastLoaded(const ClusterState& state, const std::vector<TaskKind>& kinds) const {
  std::map<std::tuple<bool, std::uint64_t, CenterId>, CenterId> by_load;
  for (const CenterId center : CentersOf(state)) {
    if (NodesOf(state, center).empty()) continue;
    const bool open =
        std::all_of(kinds.begin(), kinds.end(), [&](TaskKind kind) { return IsOpen(state, kind, center); });
    by_load[{!open, Unprocessed(state, center), center}] = center;
  }
  return by_load.empty() ? 0 : by_load.begin()->second;
}

// --- Who gets a slot ---

std::optional<Decision> JossReference::Next(const ClusterState& state) {
  ApplyChanges(state);
  for (const TaskKind kind : kTaskKinds) {
    if (auto decision = NextUnknown(state, kind)) return decision;
  }
  for (const TaskKind kind : kTaskKinds) {
    if (auto decision = NextQueued(state, kind)) return decision;
  }
  return std::nullopt;
}

// As `fifo` decides among these jobs.
std::optional<Decision> JossReference::NextUnknown(const ClusterState& state, TaskKind kind) {
  std::vector<const JobState*> jobs;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    if (IsUnknown(*state.FindJob(key.job))) jobs.push_back(state.FindJob(key.job));
  }
  const std::vector<std::uint32_t> free(state.FreeNodes(kind).begin(), state.FreeNodes(kind).end());
  if (kind == TaskKind::kMap && free.size() > 1 && !jobs.empty()) {
    const JobId first = jobs.front()->progress.job;
    const auto& replicas = jobs.front()->spec.maps[jobs.front()->pending_maps.all().First()].replicas;
    const auto at_data = std::find_if(free.begin(), free.end(), [&](std::uint32_t node) {
      return std::find(replicas.begin(), replicas.end(), NodeId{node}) != replicas.end();
    });
    const auto map =
        at_data == free.end() ? std::nullopt : state.BestPendingMap(first, NodeId{*at_data}, Locality::kNode);
    if (map) return Decision{{first, kind, map->map}, NodeId{*at_data}};
  }
  for (const std::uint32_t node : InTurn(free, unknown_turn_[kind])) {
    for (const JobState* job : jobs) {
      const JobId id = job->progress.job;
      const auto map = kind == TaskKind::kMap ? state.BestPendingMap(id, NodeId{node}) : std::nullopt;
      const auto reduce = kind == TaskKind::kReduce ? state.NextPendingReduce(id, NodeId{node}) : std::nullopt;
      if (!map && !reduce) continue;
      unknown_turn_[kind] = node + 1;
      return Decision{{id, kind, map ? map->map : *reduce}, NodeId{node}};
    }
  }
  return std::nullopt;
}

std::optional<Decision> JossReference::NextQueued(const ClusterState& state, TaskKind kind) {
  for (const CenterId center : InTurn(CentersOf(state), center_turn_[kind])) {
    std::vector<std::uint32_t> nodes, queues;
    for (const std::uint32_t node : OpenNodes(state, kind, center)) {
      if (state.FreeNodes(kind).Contains(node)) nodes.push_back(node);
    }
    for (const auto& [id, queue] : queues_) {
      const bool ready = !InOrder(state, id).empty();
      if (std::get<TaskKind>(id) == kind && std::get<1>(id) == center && ready) queues.push_back(std::get<2>(id));
    }
    queues = InTurn(queues, queue_turn_[{kind, center}]);
    if (!queues.empty() && assigner_ == Joss::Assigner::kJob && kind == TaskKind::kMap) {
      const QueueId id{kind, center, queues.front()};
      const Batch first = InOrder(state, id).front();
      const auto& replicas = state.FindJob(first.job)->spec.maps[*first.tasks.begin()].replicas;
      const auto at_data = std::find_if(nodes.begin(), nodes.end(), [&](std::uint32_t node) {
        return std::find(replicas.begin(), replicas.end(), NodeId{node}) != replicas.end();
      });
      const Pick pick = at_data == nodes.end() ? Pick() : PickLocal(state, id, NodeId{*at_data});
      if (pick.verdict == Verdict::kMoved) return NextQueued(state, kind);
      if (pick.verdict == Verdict::kTake) return Give(id, pick.task, NodeId{*at_data});
    }
    for (const std::uint32_t node : InTurn(nodes, node_turn_[{kind, center}])) {
      for (const std::uint32_t queue : queues) {
        const Pick pick = PickFrom(state, {kind, center, queue}, NodeId{node});
        if (pick.verdict == Verdict::kMoved) return NextQueued(state, kind);
        if (pick.verdict == Verdict::kSkip) continue;
        node_turn_[{kind, center}] = node + 1;
        return Give({kind, center, queue}, pick.task, NodeId{node});
      }
    }
  }
  return std::nullopt;
}

Decision JossReference::Give(const QueueId& id, const TaskId& task, NodeId node) {
  const auto& [kind, center, queue] = id;
  Remove(task);
  Home(task) = center;
  center_turn_[kind] = center + 1;
  queue_turn_[{kind, center}] = queue + 1;
  return {task, node};
}

std::vector<JossReference::Batch> JossReference::InOrder(const ClusterState& state, const QueueId& id) const {
  std::vector<Batch> batches;
  for (const bool near : {true, false}) {
    for (const Batch& batch : queues_.at(id)) {
      if (batch.near == near && state.FindJob(batch.job)->runnable[std::get<TaskKind>(id)]) batches.push_back(batch);
    }
  }
  return batches;
}

JossReference::Pick JossReference::PickFrom(const ClusterState& state, const QueueId& id, NodeId node) {
  const auto& [kind, center, number] = id;
  if (assigner_ == Joss::Assigner::kJob && kind == TaskKind::kMap) {
    const Pick local = PickLocal(state, id, node);
    if (local.verdict != Verdict::kSkip) return local;
  }
  for (const Batch& batch : InOrder(state, id)) {
    const JobState& job = *state.FindJob(batch.job);
    std::optional<std::uint64_t> too_large;  // the least output that does not fit
    for (const std::uint32_t index : batch.tasks) {
      if (too_large && job.ExpectedOutput(index) >= *too_large) continue;
      const TaskId task{batch.job, kind, index};
      const Verdict verdict = Check(state, task, center, node, false);
      if (verdict != Verdict::kSkip) return {verdict, task};
      if (state.Refused(job, node)) break;
      if (kind == TaskKind::kMap && state.LacksSpace(job, index, node)) too_large = job.ExpectedOutput(index);
    }
  }
  return {};
}

JossReference::Pick JossReference::PickLocal(const ClusterState& state, const QueueId& id, NodeId node) {
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    for (const std::uint32_t map : state.FindJob(key.job)->pending_maps.At(node)) {
      const TaskId task{key.job, TaskKind::kMap, map};
      const Verdict verdict = IsIn(id, task) ? Check(state, task, std::get<1>(id), node, true) : Verdict::kSkip;
      if (verdict != Verdict::kSkip) return {verdict, task};
    }
  }
  return {};
}

JossReference::Verdict JossReference::Check(const ClusterState& state, const TaskId& task, CenterId center, NodeId node,
                                            bool at_data) {
  const bool may_run = MayRun(state, task, node);
  std::optional<CenterId> to;
  if (!may_run && !MayRunIn(state, task, center)) to = Elsewhere(state, task, center, false);
  if (may_run && task.kind == TaskKind::kMap && !at_data && jobs_.at(task.job).by_blocks &&
      !Holds(state, state.FindJob(task.job)->spec.maps[task.index], center)) {
    to = Elsewhere(state, task, center, true);
  }
  if (!to) return may_run ? Verdict::kTake : Verdict::kSkip;
  Move(state, task, *to);
  return Verdict::kMoved;
}

void JossReference::Move(const ClusterState& state, const TaskId& task, CenterId to) {
  Remove(task);
  Home(task) = to;
  Put(state, task.kind, {{to, {task.index}}}, *state.FindJob(task.job), true);
}

std::optional<CenterId> JossReference::Elsewhere(const ClusterState& state, const TaskId& task, CenterId center,
                                                 bool holding) const {
  std::set<std::pair<std::uint64_t, CenterId>> by_load;
  for (const CenterId other : CentersOf(state)) {
    if (other == center || !MayRunIn(state, task, other)) continue;
    if (holding && !Holds(state, state.FindJob(task.job)->spec.maps[task.index], other)) continue;
    by_load.insert({Unprocessed(state, other), other});
  }
  return by_load.empty() ? std::nullopt : std::optional(by_load.begin()->second);
}

bool JossReference::WaitsForSpace(const ClusterState& state) const {
  constexpr TaskKind kMap = TaskKind::kMap;
  for (const std::uint32_t node : state.FreeNodes(kMap)) {
    const CenterId center = state.FindNode(NodeId{node})->location.datacenter;
    for (const QueueKey& key : state.RunnableJobs(kMap)) {
      const JobState& job = *state.FindJob(key.job);
      if (!state.BestMapLacksSpace(key.job, NodeId{node})) continue;
      if (IsUnknown(job)) return true;
      for (const std::uint32_t map : job.pending_maps.all()) {
        const bool here = IsIn({kMap, center, jobs_.at(key.job).queue}, {key.job, kMap, map});
        if (here && state.LacksSpace(job, map, NodeId{node})) return true;
      }
    }
  }
  return false;
}

}  // namespace millrace::sched
