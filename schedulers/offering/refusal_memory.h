// SPDX-License-Identifier: Apache-2.0
// RefusalMemory: the refusals of slots that Greedy and Dl remember, so that a slot that every job refused is not
// offered again in vain.
//
// The rule, as code, for each kind of slot:
//
//   offered to all:   the free nodes that were not refused by every job that may run
//   offered to some:  the other free nodes; only to the jobs that may take more than they did
//   a job may take more after it has changed if
//     it could not run before                         // it was not asked before
//     or it has more pending tasks                    // it did not have some of them when it refused
//     or one of its attempts has failed               // the task is kept from other nodes than before
//     or, with `+ccs`, one of its reduces no longer copies
//     or none of its counts (JobCounts) changed       // then replicas of its input have moved
//
// A job that only launched and finished tasks takes no slot that it refused before.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/cluster/job_table.h"
#include "schedulers/cluster/ordered_bits.h"

namespace millrace::sched {

// The refusals of slots of one kind. Nodes are served in turn by id, starting after the node that was taken last. A
// walk costs O(log nodes) for each node that it visits, and for each change between free and not free along the nodes
// to be offered, in order of id.
class SlotRefusals {
 public:
  // kUnsure: the node was refused for a reason that may pass without notice, so it is offered to all again.
  enum class Answer : std::uint8_t { kTaken, kRefused, kUnsure };

  // Forgets all refusals. Every node with a lower number than `node_ids` is offered to all.
  void Reset(std::uint32_t node_ids);
  void Reset() { Reset(node_ids_); }
  // Records that from now on the job may take slots that it has refused.
  void MayAcceptMore(JobId job);
  // Records that the job has ended.
  void Forget(JobId job);

  // Calls offer(node, to_all) for the free nodes that are to be offered, in turn, until one is taken. If to_all is
  // false, the node is to be offered only to the jobs of accepting_more(). Returns the node that was taken, or nothing.
  template <class Offer>
  std::optional<NodeId> Walk(const OrderedBits& free, const Offer& offer) {
    return Walk(free, free, offer);
  }
  // Walks the free nodes as the Walk above does, but the nodes of `before` ahead of the others. Requires: the nodes of
  // `before` are in `free`.
  template <class Offer>
  std::optional<NodeId> Walk(const OrderedBits& before, const OrderedBits& free, const Offer& offer);
  // Calls offer(node) for all free nodes in turn, also those refused by all, until one is taken. `offer` returns true
  // if the node is taken. Returns the node that was taken, or nothing.
  template <class Offer>
  std::optional<NodeId> WalkAll(const OrderedBits& free, const Offer& offer);
  // Returns the jobs for which MayAcceptMore was called since the last Walk in which no job took a node.
  [[nodiscard]] const std::vector<JobId>& accepting_more() const { return accepting_more_; }
  // Returns the node whose turn is next, free or not.
  [[nodiscard]] NodeId turn() const { return NodeId{turn_}; }

 private:
  // With more accepting jobs than this, all jobs are asked.
  static constexpr std::size_t kMostAcceptingMore = 16;

  // Returns the first free node to be offered in [from, end), or kNone.
  [[nodiscard]] std::uint32_t NextToOffer(const OrderedBits& free, std::uint32_t from, std::uint32_t end) const;
  void RecordRefusal(std::uint32_t node);
  void EndWalk();

  std::uint32_t node_ids_ = 0;
  std::uint32_t turn_ = 0;
  OrderedBits unasked_, refused_by_all_;
  OrderedBits to_recheck_;  // the nodes refused by all that the jobs in accepting_more_ have not refused again yet
  std::vector<JobId> accepting_more_;
};

class RefusalMemory {
 public:
  // `splits_reduces`: true with `+ccs`.
  explicit RefusalMemory(bool splits_reduces) : splits_reduces_(splits_reduces) {}

  void OnJobSubmitted(const JobState& job);
  // Returns true for each kind of slot of which the job may now take slots that it has refused.
  PerKind<bool> OnJobChanged(const JobState& job);
  void OnJobEnded(JobId job);
  void OnNodesChanged(const ClusterState& state);

  [[nodiscard]] SlotRefusals& operator[](TaskKind kind) { return slots_[kind]; }

 private:
  // The counts of a job whose changes matter for its refusals.
  struct JobCounts {
    PerKind<std::uint32_t> pending, running;
    PerKind<bool> runnable = {};
    std::uint32_t computing = 0, copied = 0, may_compute = 0, done = 0;
    std::uint64_t failed = 0;
    bool operator==(const JobCounts&) const = default;
  };
  [[nodiscard]] static JobCounts CountsOf(const JobState& job);

  const bool splits_reduces_;
  PerKind<SlotRefusals> slots_;
  JobTable<JobCounts> jobs_;
};

template <class Offer>
std::optional<NodeId> SlotRefusals::Walk(const OrderedBits& before, const OrderedBits& free, const Offer& offer) {
  struct Part {
    const OrderedBits& nodes;
    std::uint32_t begin, end;
  };
  const Part parts[] = {
      {before, turn_, OrderedBits::kNone}, {before, 0, turn_}, {free, turn_, OrderedBits::kNone}, {free, 0, turn_}};
  for (const auto& [nodes, begin, end] : std::span(parts).subspan(&before == &free ? 2 : 0)) {
    for (std::uint32_t id = begin; (id = NextToOffer(nodes, id, end)) != OrderedBits::kNone; ++id) {
      const Answer answer = offer(NodeId{id}, unasked_.Contains(id));
      if (answer == Answer::kTaken) {
        turn_ = id + 1;
        return NodeId{id};
      }
      if (answer == Answer::kRefused) RecordRefusal(id);
    }
  }
  EndWalk();
  return std::nullopt;
}

template <class Offer>
std::optional<NodeId> SlotRefusals::WalkAll(const OrderedBits& free, const Offer& offer) {
  const std::uint32_t parts[][2] = {{turn_, OrderedBits::kNone}, {0, turn_}};
  for (const auto& [begin, end] : parts) {
    for (std::uint32_t id = free.NextFrom(begin); id < end; id = free.NextFrom(id + 1)) {
      if (!offer(NodeId{id})) continue;
      turn_ = id + 1;
      return NodeId{id};
    }
  }
  return std::nullopt;
}

}  // namespace millrace::sched
