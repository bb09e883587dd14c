// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_queues.h"

#include <algorithm>
#include <utility>

#include "base/ids/ids.h"
#include "schedulers/events/check.h"

namespace millrace::sched {

// Pointers to shares of the other object become pointers to their copies.
JossQueues::JossQueues(const JossQueues& other)
    : lanes_(other.lanes_), jobs_(other.jobs_), head_(other.head_), tail_(other.tail_) {
  for (const TaskKind kind : kTaskKinds) {
    JobTable<JobTasks>& jobs = jobs_[kind];
    jobs.ForEach([](JobId, JobTasks& of_job) {
      of_job.shares.clear();
      std::fill(of_job.share_of.begin(), of_job.share_of.end(), nullptr);
    });
    for (Lane& lane : lanes_[kind]) {
      for (auto& [number, queue] : lane.queues) {
        for (auto& [place, share] : queue) {
          for (const std::uint32_t task : share.tasks) jobs.At(share.job).share_of[task] = &share;
        }
      }
      for (auto& [number, ready] : lane.ready) {
        for (auto* line : {&ready.near, &ready.far}) {
          for (auto& [place, share] : *line) share = &lane.queues.at(number).at(place);
        }
      }
    }
    other.jobs_[kind].ForEach([&](JobId job, const JobTasks& of_job) {
      for (const Share* share : of_job.shares) {
        Lane& lane = lanes_[kind][share->center];
        jobs.At(job).shares.push_back(&lane.queues.at(share->queue).at(share->place));
      }
    });
  }
}

JossQueues::Lane& JossQueues::LaneOf(TaskKind kind, CenterId center) {
  auto& lanes = lanes_[kind];
  if (lanes.size() <= center) lanes.resize(center + 1);
  return lanes[center];
}

const JossQueues::Lane& JossQueues::LaneOf(TaskKind kind, CenterId center) const {
  static const Lane kEmpty;
  const auto& lanes = lanes_[kind];
  return center < lanes.size() ? lanes[center] : kEmpty;
}

const JossQueues::JobTasks& JossQueues::TasksOf(JobId job, TaskKind kind) const {
  static const JobTasks kNone;
  const JobTasks* const tasks = jobs_[kind].Find(job);
  return tasks == nullptr ? kNone : *tasks;
}

JossQueues::Share& JossQueues::Put(End end, JobId job, TaskKind kind, CenterId center, std::uint32_t queue, bool near,
                                   OrderedBits tasks) {
  JobTasks& of_job = jobs_[kind][job];
  Lane& lane = LaneOf(kind, center);
  const std::int64_t place = end == End::kHead ? --head_ : tail_++;
  Share& share = lane.queues[queue][place];
  share = {job, kind, center, queue, near, false, place, std::move(tasks)};
  of_job.shares.push_back(&share);
  of_job.waiting += share.tasks.size();
  lane.waiting += share.tasks.size();
  for (const std::uint32_t task : share.tasks) {
    if (of_job.share_of.size() <= task) of_job.share_of.resize(task + 1, nullptr);
    SCHED_CHECK(of_job.share_of[task] == nullptr, ToText(TaskId{job, kind, task}));
    of_job.share_of[task] = &share;
  }
  return share;
}

void JossQueues::Remove(Share& share, std::uint32_t task) {
  JobTasks& of_job = jobs_[share.kind].At(share.job);
  SCHED_CHECK(of_job.share_of[task] == &share, ToText(TaskId{share.job, share.kind, task}));
  of_job.share_of[task] = nullptr;
  share.tasks.Erase(task);
  --of_job.waiting;
  --LaneOf(share.kind, share.center).waiting;
  if (share.tasks.empty()) Drop(share);
}

void JossQueues::Drop(Share& share) {
  SetReady(share, false);
  std::erase(jobs_[share.kind].At(share.job).shares, &share);
  auto& queues = LaneOf(share.kind, share.center).queues;
  const auto queue = queues.find(share.queue);
  queue->second.erase(share.place);
  if (queue->second.empty()) queues.erase(queue);
}

void JossQueues::SetReady(Share& share, bool ready) {
  if (std::exchange(share.ready, ready) == ready) return;
  Lane& lane = LaneOf(share.kind, share.center);
  ReadyShares& queue = lane.ready[share.queue];
  auto& line = share.near ? queue.near : queue.far;
  if (ready) {
    line[share.place] = &share;
    return;
  }
  line.erase(share.place);
  if (queue.near.empty() && queue.far.empty()) lane.ready.erase(share.queue);
}

void JossQueues::EraseJob(JobId job) {
  for (const TaskKind kind : kTaskKinds) {
    for (Share* share : std::vector<Share*>(TasksOf(job, kind).shares)) {
      LaneOf(kind, share->center).waiting -= share->tasks.size();
      Drop(*share);
    }
    jobs_[kind].Erase(job);
  }
}

void JossQueues::MoveAll(TaskKind kind, CenterId from, CenterId to) {
  std::vector<Share*> in_order;
  for (auto& [number, queue] : LaneOf(kind, from).queues) {
    for (auto& [place, share] : queue) in_order.push_back(&share);
  }
  for (Share* share : in_order) {
    const std::vector<std::uint32_t> tasks(share->tasks.begin(), share->tasks.end());
    const Share old = *share;
    for (const std::uint32_t task : tasks) Remove(*share, task);
    SetReady(Put(End::kTail, old.job, kind, to, old.queue, old.near, old.tasks), old.ready);
  }
}

const JossQueues::ReadyQueues& JossQueues::Ready(TaskKind kind, CenterId center) const {
  return LaneOf(kind, center).ready;
}

JossQueues::ReadyQueues::const_iterator JossQueues::InTurn(TaskKind kind, CenterId center) const {
  const Lane& lane = LaneOf(kind, center);
  const auto next = lane.ready.lower_bound(lane.turn);
  return next == lane.ready.end() ? lane.ready.begin() : next;
}

void JossQueues::EndTurn(TaskKind kind, CenterId center, std::uint32_t served) {
  LaneOf(kind, center).turn = served + 1;
}

std::uint32_t JossQueues::Waiting(TaskKind kind, CenterId center) const { return LaneOf(kind, center).waiting; }

std::uint32_t JossQueues::Waiting(JobId job, TaskKind kind) const { return TasksOf(job, kind).waiting; }

JossQueues::Share* JossQueues::Find(const TaskId& task) const {
  const JobTasks& of_job = TasksOf(task.job, task.kind);
  return task.index < of_job.share_of.size() ? of_job.share_of[task.index] : nullptr;
}

const std::vector<JossQueues::Share*>& JossQueues::SharesOf(JobId job, TaskKind kind) const {
  return TasksOf(job, kind).shares;
}

}  // namespace millrace::sched
