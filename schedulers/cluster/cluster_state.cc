// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/cluster_state.h"

#include <algorithm>
#include <utility>

#include "schedulers/events/check.h"

namespace millrace::sched {

const NodeState* ClusterState::FindNode(NodeId node) const {
  // An id that no node has used yet has an entry without a location.
  if (node.value >= nodes_.size() || nodes_[node.value].location == Location{}) return nullptr;
  return &nodes_[node.value];
}

bool ClusterState::WasUsed(JobId job) const { return job.value < used_.size() && used_[job.value]; }

NodeState& ClusterState::Node(NodeId node) {
  SCHED_CHECK(FindNode(node) != nullptr, "n" + std::to_string(node.value));
  return nodes_[node.value];
}

JobState& ClusterState::MutableJob(JobId job) {
  SCHED_CHECK(FindJob(job) != nullptr, ToText(job));
  return jobs_.At(job).Own();
}

bool ClusterState::Refused(const JobState& job, NodeId node) const {
  return job.live_bad_nodes > 0 && AreFew(job.live_bad_nodes) && job.bad_nodes.contains(node);
}

bool ClusterState::Avoids(const JobState& job, TaskKind kind, std::uint32_t index, NodeId node) const {
  if (job.node_failures_counted == 0) return false;
  const auto& failed_on = job.failed_on[kind];
  if (failed_on.empty() || !failed_on.contains({index, node})) return false;
  const OrderedBits& open = open_[kind];
  std::uint32_t closed = 0;  // open nodes that the task should avoid
  for (auto at = failed_on.lower_bound({index, NodeId{0}}); at != failed_on.end() && at->first == index; ++at) {
    if (open.Contains(at->second.value)) ++closed;
  }
  for (const NodeId bad : job.bad_nodes) {
    if (open.Contains(bad.value) && Refused(job, bad) && !failed_on.contains({index, bad})) ++closed;
  }
  if (closed == open.size()) return false;
  if (kind == TaskKind::kReduce || running_[kind] > 0) return true;
  // Nothing ends that would make room for the map on another node.
  return std::any_of(open.begin(), open.end(), [&](std::uint32_t other) {
    const NodeId to{other};
    return !failed_on.contains({index, to}) && !Refused(job, to) && !LacksSpace(job, index, to);
  });
}

std::uint32_t NodeState::Copying(JobId job) const {
  const auto at = std::lower_bound(copying.begin(), copying.end(), std::pair{job, std::uint32_t{0}});
  return at != copying.end() && at->first == job ? at->second : 0;
}

bool ClusterState::MoreLocalJobsThan(NodeId node, std::size_t count) const {
  KeepLocalJobs();
  return node.value < nodes_.size() && local_jobs_->MoreThan(node, count);
}

std::optional<Micros> ClusterState::MeanTime(TaskKind kind) const {
  const std::uint32_t finished = finished_[kind];
  return finished == 0 ? std::nullopt : std::optional(finished_total_[kind] / finished);
}

void ClusterState::NoteChanged(JobState& job) {
  if (!std::exchange(job.changed, true)) changed_jobs_.push_back(job.progress.job);
}

const std::vector<JobId>& ClusterState::TakeChangedJobs() {
  taken_jobs_.clear();
  for (const JobId id : changed_jobs_) {
    if (FindJob(id) == nullptr) continue;
    JobState& job = MutableJob(id);
    if (!std::exchange(job.changed, false) || !job.alive()) continue;
    taken_jobs_.push_back(id);
  }
  changed_jobs_.clear();
  return taken_jobs_;
}

void ClusterState::ListLocalJobs() const {
  local_jobs_.emplace().SetNodes(nodes_.size());
  for (const QueueKey& key : live_) {
    const JobState& job = *FindJob(key.job);
    local_jobs_->AddJob(key);
    ListLocal(job, job.pending_maps.Nodes());
  }
}

void ClusterState::DropLocalJobs() { local_jobs_.reset(); }

std::vector<NodeId>* ClusterState::LocalNodes() {
  local_nodes_.clear();
  return local_jobs_ ? &local_nodes_ : nullptr;
}

void ClusterState::ListLocal(const JobState& job, const std::vector<NodeId>& nodes) const {
  for (const NodeId node : nodes) {
    if (FindNode(node) != nullptr) local_jobs_->Insert(job.progress.job, node);
  }
}

void ClusterState::UnlistLocal(const JobState& job, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    if (node.value < nodes_.size()) local_jobs_->Erase(job.progress.job, node);
  }
}

std::optional<MapChoice> ClusterState::ClosestPendingMap(const JobState& job, NodeId node, Locality worst) const {
  if (Refused(job, node)) return std::nullopt;
  return job.pending_maps.Best(node, topology_.Of(node), worst, Avoided(job, node));
}

PendingMaps::Skip ClusterState::Avoided(const JobState& job, NodeId node) const {
  if (job.node_failures_counted == 0 || job.failed_on[TaskKind::kMap].empty()) return {};
  return [&job, node, this](std::uint32_t map) { return Avoids(job, TaskKind::kMap, map, node); };
}

std::optional<MapChoice> ClusterState::UnlocatedPendingMap(JobId id, NodeId node) const {
  const JobState* job = FindJob(id);
  SCHED_CHECK(job != nullptr && job->alive(), ToText(id));
  return ThatFits(FirstUnlocatedMap(*job, node), *job, node, Locality::kOff, job->pending_maps.unlocated());
}

bool ClusterState::UnlocatedMapLacksSpace(JobId id, NodeId node) const {
  const JobState* job = FindJob(id);
  SCHED_CHECK(job != nullptr && job->alive(), ToText(id));
  const auto first = FirstUnlocatedMap(*job, node);
  return first && !ThatFits(first, *job, node, Locality::kOff, job->pending_maps.unlocated());
}

std::optional<MapChoice> ClusterState::FirstUnlocatedMap(const JobState& job, NodeId node) const {
  if (job.pending_maps.unlocated().empty() || Refused(job, node)) return std::nullopt;
  return job.pending_maps.FirstUnlocated(Avoided(job, node));
}

std::optional<MapChoice> ClusterState::BestPendingMap(JobId job, NodeId node, Locality worst) const {
  const JobState* state = FindJob(job);
  SCHED_CHECK(state != nullptr, ToText(job));
  state->Prefetch();
  SCHED_CHECK(state->alive(), ToText(job));
  const auto choice = ThatFits(ClosestPendingMap(*state, node, worst), *state, node, worst, state->pending_maps.all());
  if (choice) {  // the launch of the map reads these next, and they are a few among millions
    __builtin_prefetch(&state->maps[choice->map]);
    if (local_jobs_) state->pending_maps.Prefetch(choice->map);
    if (state->progress.reduces > 0) __builtin_prefetch(&state->spec.maps[choice->map]);
  }
  return choice;
}

bool ClusterState::BestMapLacksSpace(JobId id, NodeId node, Locality worst) const {
  const NodeState* host = FindNode(node);
  if (host == nullptr || !host->free_bytes) return false;
  const JobState* job = FindJob(id);
  SCHED_CHECK(job != nullptr && job->alive(), ToText(id));
  const auto closest = ClosestPendingMap(*job, node, worst);
  return closest && !ThatFits(closest, *job, node, worst, job->pending_maps.all());
}

std::optional<MapChoice> ClusterState::ThatFits(const std::optional<MapChoice>& choice, const JobState& job,
                                                NodeId node, Locality worst, const OrderedBits& maps) const {
  if (!choice || !LacksSpace(job, choice->map, node)) return choice;
  std::optional<MapChoice> closest;
  if (running_[TaskKind::kMap] > 0 ||
      LacksSpaceFor(job.ExpectedOutputOf(job.pending_maps.Smallest(job.spec.maps)), node))
    return closest;
  maps_looked_at_ += maps.size();
  for (const std::uint32_t map : maps) {
    const Locality locality = topology_.Distance(node, job.spec.maps[map].replicas);
    if (locality > worst || (closest && locality >= closest->locality)) continue;
    if (LacksSpace(job, map, node) || Avoids(job, TaskKind::kMap, map, node)) continue;
    closest = MapChoice{map, locality};
  }
  return closest;
}

bool ClusterState::AnyMapLacksSpace() const {
  const OrderedBits& free = FreeNodes(TaskKind::kMap);
  const JobQueue& jobs = RunnableJobs(TaskKind::kMap);
  return std::any_of(free.begin(), free.end(), [&](std::uint32_t node) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](const QueueKey& key) { return BestMapLacksSpace(key.job, NodeId{node}); });
  });
}

bool ClusterState::LacksSpace(const JobState& job, std::uint32_t map, NodeId node) const {
  return LacksSpaceFor(job.ExpectedOutput(map), node);
}

bool ClusterState::LacksSpaceFor(std::uint64_t output, NodeId node) const {
  const NodeState* host = FindNode(node);
  if (host == nullptr || !host->free_bytes) return false;
  return host->reserved_bytes + output > *host->free_bytes;
}

std::optional<std::uint32_t> ClusterState::NextPendingReduce(JobId job, NodeId node) const {
  const JobState* state = FindJob(job);
  SCHED_CHECK(state != nullptr && state->alive(), ToText(job));
  if (state->pending_reduces.empty() || !state->ReducesMayStart() || Refused(*state, node)) return std::nullopt;
  for (const std::uint32_t reduce : state->pending_reduces) {
    if (!Avoids(*state, TaskKind::kReduce, reduce, node)) return reduce;
  }
  return std::nullopt;
}

AttemptId ClusterState::NextToCompute(JobId job) const {
  const std::vector<CopiedReduce>& copied = FindJob(job)->copied_reduces;
  const auto next = std::find_if(copied.begin(), copied.end(), [this](const CopiedReduce& reduce) {
    return nodes_[reduce.node.value].HasFreePermit();
  });
  SCHED_CHECK(next != copied.end(), ToText(job));
  return next->attempt;
}

// --- Jobs ---

void ClusterState::Hold(JobId job) {
  JobState& state = MutableJob(job);
  if (std::exchange(state.held, true)) return;
  ++state.evictions;
  held_.push_back(job);
  RefreshRunnable(state);
  NoteChanged(state);
}

void ClusterState::ReleaseHeld() {
  for (const JobId id : std::exchange(held_, {})) {
    if (FindJob(id) == nullptr || !FindJob(id)->alive()) continue;
    JobState& job = MutableJob(id);
    job.held = false;
    RefreshRunnable(job);
    NoteChanged(job);
  }
}

void ClusterState::SetOverLimit(JobId id, bool over) {
  if (FindJob(id)->over_limit == over) return;
  JobState& job = MutableJob(id);
  SCHED_CHECK(job.alive() && !(over && job.started), ToText(id));
  job.over_limit = over;
  over_limit_ = over ? over_limit_ + 1 : over_limit_ - 1;
  RefreshRunnable(job);
  NoteChanged(job);
}

bool ClusterState::AllHeld() const { return !held_.empty() && held_.size() + over_limit_ == LiveJobs().size(); }

void ClusterState::RefreshRunnable(JobState& job) {
  const PerSlot<bool> now = {!job.withheld() && !job.pending_maps.all().empty(),
                             !job.withheld() && !job.pending_reduces.empty() && job.ReducesMayStart(),
                             job.may_compute > 0};
  for (const SlotKind kind : kSlotKinds) {
    if (now[kind] == job.runnable[kind]) continue;
    job.runnable[kind] = now[kind];
    if (now[kind]) {
      runnable_[kind].insert(job.key);
    } else {
      runnable_[kind].erase(job.key);
    }
  }
}

void ClusterState::EnterQueues(JobState& job) {
  live_.insert(job.key);
  RefreshRunnable(job);
  if (!local_jobs_) return;
  local_jobs_->AddJob(job.key);
  ListLocal(job, job.pending_maps.Nodes());
}

void ClusterState::LeaveQueues(JobState& job) {
  live_.erase(job.key);
  for (const SlotKind kind : kSlotKinds) {
    if (std::exchange(job.runnable[kind], false)) runnable_[kind].erase(job.key);
  }
  if (!local_jobs_) return;
  UnlistLocal(job, job.pending_maps.Nodes());
  local_jobs_->RemoveJob(job.progress.job);
}

void ClusterState::AddJob(JobId job, JobSpec spec, Micros now) {
  SCHED_CHECK(!WasUsed(job), ToText(job));
  if (job.value >= used_.size()) used_.resize(job.value + 1);
  used_[job.value] = true;
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
  EnterQueues(*state);
  jobs_[job] = LentJob(std::move(state));
}

void ClusterState::SetPriority(JobId job, Priority priority) {
  JobState& state = MutableJob(job);
  LeaveQueues(state);
  state.progress.priority = priority;
  state.key.priority = priority;
  EnterQueues(state);
}

void ClusterState::EndJob(JobId job, JobOutcome outcome, Micros now) {
  JobState& state = MutableJob(job);
  SCHED_CHECK(state.running_attempts[TaskKind::kMap] + state.running_attempts[TaskKind::kReduce] == 0, ToText(job));
  LeaveQueues(state);
  if (state.over_limit) --over_limit_;
  std::erase_if(paused_, [&](const auto& paused) { return paused.second.job == job; });
  for (const NodeId node : state.bad_nodes) refusals_.erase({state.node_failures.at(node).until, job, node});
  JobState ended;
  ended.progress = state.progress;
  ended.progress.outcome = outcome;
  ended.progress.ended = now;
  ended.key = state.key;
  ended.spec.name = std::move(state.spec.name);
  ended.spec.program = std::move(state.spec.program);
  ended.spec.input_type = std::move(state.spec.input_type);
  std::copy(std::begin(state.times), std::end(state.times), std::begin(ended.times));
  ended.maps_ended = state.maps_ended;
  ended.parts = state.parts;
  ended.bad_records = std::move(state.bad_records);
  ended.map_input_bytes = state.map_input_bytes;
  ended.map_output_bytes = state.map_output_bytes;
  state = std::move(ended);
}

void ClusterState::Detach() {
  jobs_.ForEach([](JobId, LentJob& job) {
    if (job.borrows()) (void)job.Own();
  });
}

void ClusterState::ForgetJob(JobId job) { jobs_.Erase(job); }

}  // namespace millrace::sched
