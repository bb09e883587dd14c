// SPDX-License-Identifier: Apache-2.0
// JossQueues: the task queues of each datacenter (Lee et al. section 4; docs/schedulers/policies.md#joss).
//
// A datacenter has queues of maps and queues of reduces, each with a number. Small jobs share queue 0, which is
// permanent; a large job has a queue of its own. A queue is a row of shares. A share holds tasks of one job that came
// together, in the order of their indices. A queue is dropped when it is drained, and is made again when one of its
// tasks must run again. Queues are served in turn by their numbers, and the turn persists.
//
// A task is in one queue at most. Thread rule: one thread. Cost: O(log) for a task.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/job_table.h"
#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/policies/joss/joss_placing.h"

namespace millrace::sched {

class JossQueues {
 public:
  JossQueues() = default;
  JossQueues(const JossQueues& other);
  JossQueues& operator=(const JossQueues&) = delete;
  JossQueues(JossQueues&&) = default;
  JossQueues& operator=(JossQueues&&) = default;
  ~JossQueues() = default;

  static constexpr std::uint32_t kShared = 0;  // the queue of the small jobs

  struct Share {
    JobId job;
    TaskKind kind = TaskKind::kMap;
    CenterId center = 0;
    std::uint32_t queue = 0;
    bool near = true;        // of maps: true if their data is in the datacenter
    bool ready = false;      // the job's state lets the tasks run
    std::int64_t place = 0;  // in the queue
    OrderedBits tasks;
  };
  // The ready shares of a queue, by place: those with data in the datacenter, and those without.
  struct ReadyShares {
    std::map<std::int64_t, Share*> near, far;
    [[nodiscard]] const Share& First() const { return *(near.empty() ? far : near).begin()->second; }
  };

  // The end of the queue at which a new share is added.
  enum class End : std::uint8_t { kHead, kTail };
  // Makes a share of the tasks. The address of the share stays valid until its last task has been taken. Requires:
  // `tasks` is not empty, and none of them is in a queue.
  Share& Put(End end, JobId job, TaskKind kind, CenterId center, std::uint32_t queue, bool near, OrderedBits tasks);
  // Takes the task out. The share ends with its last task.
  void Remove(Share& share, std::uint32_t task);
  void SetReady(Share& share, bool ready);
  void EraseJob(JobId job);
  // Moves all shares of `from`, in their order, to the ends of the queues of `to` with the same numbers.
  void MoveAll(TaskKind kind, CenterId from, CenterId to);

  // Returns the queues with ready shares, by number.
  using ReadyQueues = std::map<std::uint32_t, ReadyShares>;
  [[nodiscard]] const ReadyQueues& Ready(TaskKind kind, CenterId center) const;
  // Returns the ready queue whose turn it is: the next by number after the one that was served last, or the first if
  // there is none after it. Requires: Ready is not empty.
  [[nodiscard]] ReadyQueues::const_iterator InTurn(TaskKind kind, CenterId center) const;
  void EndTurn(TaskKind kind, CenterId center, std::uint32_t served);

  [[nodiscard]] std::uint32_t Waiting(TaskKind kind, CenterId center) const;  // tasks
  [[nodiscard]] std::uint32_t Waiting(JobId job, TaskKind kind) const;        // tasks
  // Returns the share that the task is in; null if it is in no queue.
  [[nodiscard]] Share* Find(const TaskId& task) const;
  // Returns the shares of the job. The reference is valid until a share of the job comes or goes.
  [[nodiscard]] const std::vector<Share*>& SharesOf(JobId job, TaskKind kind) const;

 private:
  // The queues of one kind of one datacenter.
  struct Lane {
    std::map<std::uint32_t, std::map<std::int64_t, Share>> queues;  // by number, place
    ReadyQueues ready;
    std::uint32_t turn = 0;
    std::uint32_t waiting = 0;
  };
  struct JobTasks {
    std::vector<Share*> share_of;  // by task; null: in no queue
    std::vector<Share*> shares;
    std::uint32_t waiting = 0;
  };

  Lane& LaneOf(TaskKind kind, CenterId center);
  [[nodiscard]] const Lane& LaneOf(TaskKind kind, CenterId center) const;
  [[nodiscard]] const JobTasks& TasksOf(JobId job, TaskKind kind) const;
  void Drop(Share& share);

  PerKind<std::deque<Lane>> lanes_;  // by datacenter; lanes stay where they are
  PerKind<JobTable<JobTasks>> jobs_;
  std::int64_t head_ = 0, tail_ = 0;  // places given so far
};

}  // namespace millrace::sched
