#include "schedulers/core/cluster_state.h"

#include <algorithm>
#include <utility>

#include "schedulers/core/check.h"

namespace millrace::sched {

const NodeState* ClusterState::FindNode(NodeId node) const {
  // A gap in the ids has a slotless entry that no node ever filled.
  if (node.value >= nodes_.size() || nodes_[node.value].location == Location{}) return nullptr;
  return &nodes_[node.value];
}

const JobState* ClusterState::FindJob(JobId job) const {
  return job.value < jobs_.size() ? jobs_[job.value].state.get() : nullptr;
}

bool ClusterState::WasUsed(JobId job) const { return job.value < jobs_.size() && jobs_[job.value].used; }

NodeState& ClusterState::Node(NodeId node) {
  SCHED_CHECK(FindNode(node) != nullptr, "n" + std::to_string(node.value));
  return nodes_[node.value];
}

JobState& ClusterState::MutableJob(JobId job) {
  SCHED_CHECK(FindJob(job) != nullptr, "job" + std::to_string(job.value));
  return *jobs_[job.value].state;
}

bool ClusterState::Refused(const JobState& job, NodeId node) const {
  return job.live_bad_nodes > 0 && std::uint64_t{job.live_bad_nodes} * 4 < live_nodes_ && job.bad_nodes.contains(node);
}

bool ClusterState::Avoids(const JobState& job, TaskKind kind, std::uint32_t index, NodeId node) const {
  const auto& failed_on = job.failed_on[Index(kind)];
  if (failed_on.empty() || !failed_on.contains({index, node})) return false;
  const OrderedBits& open = open_[Index(kind)];
  std::uint32_t closed = 0;  // open nodes that will not do
  for (auto at = failed_on.lower_bound({index, NodeId{0}}); at != failed_on.end() && at->first == index; ++at) {
    if (open.Contains(at->second.value)) ++closed;
  }
  for (const NodeId bad : job.bad_nodes) {
    if (open.Contains(bad.value) && Refused(job, bad) && !failed_on.contains({index, bad})) ++closed;
  }
  return closed < open.size();
}

std::optional<MapChoice> ClusterState::BestPendingMap(JobId job, NodeId node, Locality worst) const {
  const JobState* state = FindJob(job);
  SCHED_CHECK(state != nullptr && state->alive(), "job" + std::to_string(job.value));
  if (Refused(*state, node)) return std::nullopt;
  PendingMaps::Skip skip;
  if (!state->failed_on[Index(TaskKind::kMap)].empty()) {
    skip = [=, this](std::uint32_t map) { return Avoids(*state, TaskKind::kMap, map, node); };
  }
  return state->pending_maps.Best(node, topology_.Of(node), worst, skip);
}

std::optional<std::uint32_t> ClusterState::NextPendingReduce(JobId job, NodeId node) const {
  const JobState* state = FindJob(job);
  SCHED_CHECK(state != nullptr && state->alive(), "job" + std::to_string(job.value));
  if (state->pending_reduces.empty() || !state->ReducesMayStart() || Refused(*state, node)) return std::nullopt;
  for (const std::uint32_t reduce : state->pending_reduces) {
    if (!Avoids(*state, TaskKind::kReduce, reduce, node)) return reduce;
  }
  return std::nullopt;
}

// --- Nodes ---

void ClusterState::RefreshOpen(const NodeState& node) {
  const bool has_slots[] = {node.slots.maps > 0, node.slots.reduces > 0};
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    if (node.alive && !node.drained && has_slots[Index(kind)]) {
      open_[Index(kind)].Insert(node.id.value);
    } else {
      open_[Index(kind)].Erase(node.id.value);
    }
  }
  RefreshFree(node);
}

void ClusterState::RefreshFree(const NodeState& node) {
  const bool has_room[] = {node.used.maps < node.slots.maps, node.used.reduces < node.slots.reduces};
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    if (has_room[Index(kind)] && open_[Index(kind)].Contains(node.id.value)) {
      free_[Index(kind)].Insert(node.id.value);
    } else {
      free_[Index(kind)].Erase(node.id.value);
    }
  }
}

void ClusterState::JoinNode(const NodeJoined& node) {
  const Location location = topology_.Intern(node.rack, node.datacenter);
  if (location != topology_.Of(node.node)) {
    std::vector<std::pair<JobState*, std::vector<std::uint32_t>>> moved;
    for (const QueueKey& key : live_) {
      JobState& job = MutableJob(key.job);
      moved.emplace_back(&job, job.pending_maps.At(node.node));
      for (const auto map : moved.back().second) job.pending_maps.Erase(map, job.spec.maps[map], topology_);
    }
    topology_.Place(node.node, location);
    for (auto& [job, maps] : moved) {
      for (const auto map : maps) job->pending_maps.Insert(map, job->spec.maps[map], topology_);
    }
  }
  if (node.node.value >= nodes_.size()) nodes_.resize(node.node.value + 1);
  NodeState& state = nodes_[node.node.value];
  SCHED_CHECK(!state.alive, "n" + std::to_string(node.node.value));
  state = {};
  state.id = node.node;
  state.alive = true;
  state.location = location;
  state.slots = node.slots;
  ++live_nodes_;
  RefreshOpen(state);
  for (const QueueKey& key : live_) {
    JobState& job = MutableJob(key.job);
    if (job.bad_nodes.contains(node.node)) ++job.live_bad_nodes;
  }
}

void ClusterState::LoseNode(NodeId node) {
  NodeState& state = Node(node);
  SCHED_CHECK(state.alive && state.running.empty(), "n" + std::to_string(node.value));
  state.alive = false;
  --live_nodes_;
  RefreshOpen(state);
  for (const QueueKey& key : live_) {
    JobState& job = MutableJob(key.job);
    if (job.bad_nodes.contains(node)) --job.live_bad_nodes;
  }
}

void ClusterState::DrainNode(NodeId node, bool drained) {
  Node(node).drained = drained;
  RefreshOpen(Node(node));
}

// --- Jobs ---

void ClusterState::RefreshRunnable(JobState& job) {
  const bool now[] = {!job.pending_maps.all().empty(), !job.pending_reduces.empty() && job.ReducesMayStart()};
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    if (now[Index(kind)] == job.runnable[Index(kind)]) continue;
    job.runnable[Index(kind)] = now[Index(kind)];
    if (now[Index(kind)]) {
      runnable_[Index(kind)].insert(job.key);
    } else {
      runnable_[Index(kind)].erase(job.key);
    }
  }
}

void ClusterState::LeaveQueues(JobState& job) {
  live_.erase(job.key);
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    if (std::exchange(job.runnable[Index(kind)], false)) runnable_[Index(kind)].erase(job.key);
  }
}

void ClusterState::AddJob(JobId job, JobSpec spec, Time now) {
  SCHED_CHECK(!WasUsed(job), "job" + std::to_string(job.value));
  if (job.value >= jobs_.size()) jobs_.resize(job.value + 1);
  auto state = std::make_unique<JobState>();
  state->progress.job = job;
  state->progress.priority = spec.priority;
  state->progress.submitted = now;
  state->progress.maps = static_cast<std::uint32_t>(spec.maps.size());
  state->progress.reduces = spec.reduces;
  state->key = {spec.priority, submitted_++, job};
  state->maps.resize(spec.maps.size());
  state->reduces.resize(spec.reduces);
  state->pending_maps = PendingMaps(spec.maps, topology_);
  state->pending_reduces = OrderedBits::Full(spec.reduces);
  state->spec = std::move(spec);
  live_.insert(state->key);
  RefreshRunnable(*state);
  jobs_[job.value] = {true, std::move(state)};
}

void ClusterState::SetPriority(JobId job, Priority priority) {
  JobState& state = MutableJob(job);
  LeaveQueues(state);
  state.progress.priority = priority;
  state.key.priority = priority;
  live_.insert(state.key);
  RefreshRunnable(state);
}

void ClusterState::EndJob(JobId job, JobOutcome outcome, Time now) {
  JobState& state = MutableJob(job);
  SCHED_CHECK(state.running_attempts[0] + state.running_attempts[1] == 0, "job" + std::to_string(job.value));
  LeaveQueues(state);
  JobState ended;
  ended.progress = state.progress;
  ended.progress.outcome = outcome;
  ended.progress.ended = now;
  ended.key = state.key;
  ended.spec.name = std::move(state.spec.name);
  state = std::move(ended);
}

void ClusterState::ForgetJob(JobId job) { jobs_[job.value].state.reset(); }

}  // namespace millrace::sched
