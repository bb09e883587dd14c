// JobState and TaskState: what the engine keeps of a job. Read by policies, changed by ClusterState alone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/core/events.h"
#include "schedulers/core/ids.h"
#include "schedulers/core/ordered_bits.h"
#include "schedulers/core/pending_maps.h"
#include "schedulers/core/progress.h"

namespace millrace::sched {

struct RunningAttempt {
  std::uint32_t number = 0;
  NodeId node;
  Time since = 0;
};

struct TaskState {
  bool done = false;
  std::uint32_t launched = 0;           // attempts so far: the number of the next one
  std::uint32_t failed = 0;             // of them, by their own fault
  std::uint32_t winner = 0;             // the attempt that succeeded; when done
  NodeId ran_on;                        // the winner's node; when done
  std::vector<RunningAttempt> running;  // by number; more than one under speculation

  [[nodiscard]] bool pending() const { return !done && running.empty(); }
  // Null if it does not run.
  [[nodiscard]] const RunningAttempt* Find(std::uint32_t number) const;
};

// The place of a job in the queue: priority, then submit order.
struct QueueKey {
  Priority priority = Priority::kNormal;
  std::uint64_t submit_order = 0;
  JobId job;
  auto operator<=>(const QueueKey&) const = default;
};

struct JobState {
  JobProgress progress;
  JobSpec spec;  // as submitted, but for moved replicas; the priority of today is in `progress`
  QueueKey key;

  bool started = false;  // something was launched

  // Of a live job; empty when it has ended.
  std::vector<TaskState> maps;
  std::vector<TaskState> reduces;
  PendingMaps pending_maps;
  OrderedBits pending_reduces;
  std::uint32_t running_attempts[2] = {};  // by TaskKind: the slots that the job holds

  std::set<std::pair<std::uint32_t, NodeId>>
      failed_on[2];                               // by TaskKind: tasks and nodes where attempts of them failed
  std::map<NodeId, std::uint32_t> node_failures;  // failed attempts by node
  std::set<NodeId> bad_nodes;                     // so many of them that the node may be refused
  std::uint32_t live_bad_nodes = 0;
  std::map<std::uint32_t, std::set<std::uint32_t>> fetch_reports;  // by map: the reduces that could not fetch it
  bool runnable[2] = {};                                           // by TaskKind: listed by ClusterState::RunnableJobs

  [[nodiscard]] bool alive() const { return !progress.outcome.has_value(); }
  [[nodiscard]] std::vector<TaskState>& Tasks(TaskKind kind) { return kind == TaskKind::kMap ? maps : reduces; }
  [[nodiscard]] const std::vector<TaskState>& Tasks(TaskKind kind) const {
    return kind == TaskKind::kMap ? maps : reduces;
  }
  [[nodiscard]] const OrderedBits& Pending(TaskKind kind) const {
    return kind == TaskKind::kMap ? pending_maps.all() : pending_reduces;
  }
  // The slow-start fraction of the maps has succeeded.
  [[nodiscard]] bool ReducesMayStart() const;
  // Nothing is left to do: all reduces, or all maps of a job without reduces, have succeeded.
  [[nodiscard]] bool Complete() const;
};

}  // namespace millrace::sched
