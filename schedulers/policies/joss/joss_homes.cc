// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_homes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedulers/cluster/ordered_bits.h"

namespace millrace::sched {

using Share = JossQueues::Share;

void JossHomes::OnJobSubmitted(JobId job) {
  jobs_[job].standing = Standing::kSubmitted;
  OnJobChanged(job);
}

void JossHomes::OnJobChanged(JobId job) {
  if (!std::exchange(jobs_[job].changed, true)) changed_.push_back(job);
}

void JossHomes::OnJobEnded(JobId job) {
  queues_.EraseJob(job);
  jobs_.Erase(job);
}

void JossHomes::Update(const ClusterState& state, JossFifo& unknown) {
  if (std::exchange(nodes_changed_, false)) ApplyNodes(state, unknown);
  for (const JobId job : changed_) {
    JobHomes* const homes = jobs_.Find(job);
    if (homes == nullptr) continue;  // it has ended
    homes->changed = false;
    if (homes->standing == Standing::kSubmitted) Place(state, job, unknown);
    if (homes->standing == Standing::kPlaced) Refresh(state, job);
  }
  changed_.clear();
}

void JossHomes::ApplyNodes(const ClusterState& state, JossFifo& unknown) {
  centers_.Rebuild(state);
  const bool spread = centers_.live() >= 2;
  if (std::exchange(spread_, spread) != spread) {
    PlaceAll(state, unknown);
  } else if (spread) {
    LeaveClosedCenters(state);
  }
}

void JossHomes::PlaceAll(const ClusterState& state, JossFifo& unknown) {
  queues_ = JossQueues();
  std::vector<QueueKey> jobs(state.LiveJobs().begin(), state.LiveJobs().end());
  std::sort(jobs.begin(), jobs.end(),
            [](const QueueKey& a, const QueueKey& b) { return a.submit_order < b.submit_order; });
  for (const QueueKey& key : jobs) Place(state, key.job, unknown);
}

void JossHomes::Place(const ClusterState& state, JobId id, JossFifo& unknown) {
  const JobState& job = *state.FindJob(id);
  const auto filtering = FilteringPercentage(job, settings_);
  if (!spread_ || !filtering) {
    jobs_[id].standing = Standing::kListed;
    unknown.List(state, id);
  } else {
    jobs_[id].standing = Standing::kPlaced;
    unknown.Unlist(id);
    Bind(state, job, *filtering);
  }
}

void JossHomes::Bind(const ClusterState& state, const JobState& job, double filtering) {
  JobHomes& homes = jobs_[job.progress.job];
  const bool small = IsSmallJob(job.spec.maps.size(), state.live_nodes(), centers_.live());
  homes.by_blocks = !small || filtering <= ReduceHeavyThreshold(centers_.live());
  homes.queue = small ? JossQueues::kShared : ++last_queue_;
  const CenterId least = centers_.LeastLoaded(state, queues_, {TaskKind::kMap, TaskKind::kReduce});
  if (homes.by_blocks) {
    std::vector<std::vector<CenterId>> holders;
    holders.reserve(job.spec.maps.size());
    for (const MapInput& input : job.spec.maps) holders.push_back(centers_.Holders(state, input));
    JossPlan plan = PlaceByBlocks(holders, centers_.size(), least);
    homes.maps = std::move(plan.maps);
    homes.reduces = plan.reduces;
  } else {
    homes.maps.assign(job.spec.maps.size(), least);
    homes.reduces = least;
  }
  for (const TaskKind kind : kTaskKinds) QueueMissing(state, job, kind, JossQueues::End::kTail);
}

void JossHomes::LeaveClosedCenters(const ClusterState& state) {
  for (const TaskKind kind : kTaskKinds) {
    for (CenterId center = 0; center < centers_.size(); ++center) {
      if (queues_.Waiting(kind, center) == 0 || centers_.IsOpen(kind, center)) continue;
      const CenterId to = centers_.LeastLoaded(state, queues_, {kind});
      if (centers_.IsOpen(kind, to)) queues_.MoveAll(kind, center, to);
    }
  }
}

void JossHomes::Refresh(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  for (const TaskKind kind : kTaskKinds) {
    // Every task is in one queue at most, so if as many are queued as are pending, and all of them are pending, the
    // queues have all.
    const auto& shares = queues_.SharesOf(id, kind);
    const bool same = queues_.Waiting(id, kind) == job.Pending(kind).size() &&
                      std::all_of(shares.begin(), shares.end(),
                                  [&](const Share* share) { return job.Pending(kind).ContainsAll(share->tasks); });
    if (!same) {
      RemoveGone(job, kind);
      QueueMissing(state, job, kind, JossQueues::End::kHead);
    }
    for (Share* share : queues_.SharesOf(id, kind)) queues_.SetReady(*share, job.runnable[kind]);
  }
}

// Tasks that are gone were launched by another policy, or by a journal.
void JossHomes::RemoveGone(const JobState& job, TaskKind kind) {
  for (Share* share : std::vector<Share*>(queues_.SharesOf(job.progress.job, kind))) {
    const std::vector<std::uint32_t> tasks(share->tasks.begin(), share->tasks.end());
    for (const std::uint32_t task : tasks) {
      if (!job.Pending(kind).Contains(task)) queues_.Remove(*share, task);
    }
  }
}

void JossHomes::QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, JossQueues::End end) {
  const JobId id = job.progress.job;
  std::map<std::pair<CenterId, bool>, OrderedBits> missing;  // by datacenter, and whether the data is there
  std::optional<CenterId> instead;
  for (const std::uint32_t index : job.Pending(kind)) {
    const TaskId task{id, kind, index};
    if (queues_.Find(task) != nullptr) continue;
    CenterId& home = HomeOf(task);
    if (!centers_.IsOpen(kind, home)) {
      if (!instead) instead = centers_.LeastLoaded(state, queues_, {kind});
      home = *instead;
    }
    missing[{home, IsNear(state, job, task, home)}].Insert(index);
  }
  for (auto& [place, tasks] : missing) {
    Share& share = queues_.Put(end, id, kind, place.first, jobs_[id].queue, place.second, std::move(tasks));
    queues_.SetReady(share, job.runnable[kind]);
  }
}

CenterId& JossHomes::HomeOf(const TaskId& task) {
  JobHomes& homes = jobs_[task.job];
  return task.kind == TaskKind::kMap ? homes.maps[task.index] : homes.reduces;
}

// In queues that keep the order in which tasks came, all tasks are as near.
bool JossHomes::IsNear(const ClusterState& state, const JobState& job, const TaskId& task, CenterId center) const {
  if (order_ == QueueOrder::kAsTheyCame || task.kind == TaskKind::kReduce) return true;
  return centers_.Holds(state, job.spec.maps[task.index], center);
}

void JossHomes::OnLaunched(const TaskId& task) {
  Share& share = *queues_.Find(task);
  HomeOf(task) = share.center;  // the queue may have moved since the task was placed
  queues_.EndTurn(task.kind, share.center, share.queue);
  queues_.Remove(share, task.index);
}

bool JossHomes::MoveToOpenNodes(const ClusterState& state, const TaskId& task) {
  return !centers_.MayRunIn(state, task, queues_.Find(task)->center) && MoveElsewhere(state, task, nullptr);
}

bool JossHomes::MoveToItsBlock(const ClusterState& state, const TaskId& task) {
  if (task.kind == TaskKind::kReduce || !jobs_[task.job].by_blocks) return false;
  const MapInput& input = state.FindJob(task.job)->spec.maps[task.index];
  return !centers_.Holds(state, input, queues_.Find(task)->center) && MoveElsewhere(state, task, &input);
}

bool JossHomes::MoveElsewhere(const ClusterState& state, const TaskId& task, const MapInput* held) {
  Share& from = *queues_.Find(task);
  std::optional<std::pair<std::uint64_t, CenterId>> best;
  for (CenterId center = 0; center < centers_.size(); ++center) {
    if (center == from.center || !centers_.MayRunIn(state, task, center)) continue;
    if (held != nullptr && !centers_.Holds(state, *held, center)) continue;
    const std::pair candidate{centers_.Unprocessed(state, queues_, center), center};
    if (!best || candidate < *best) best = candidate;
  }
  if (!best) return false;
  const CenterId to = best->second;
  const std::uint32_t queue = from.queue;
  const bool ready = from.ready;
  queues_.Remove(from, task.index);
  HomeOf(task) = to;
  OrderedBits tasks;
  tasks.Insert(task.index);
  const bool near = IsNear(state, *state.FindJob(task.job), task, to);
  queues_.SetReady(queues_.Put(JossQueues::End::kHead, task.job, task.kind, to, queue, near, std::move(tasks)), ready);
  return true;
}

}  // namespace millrace::sched
