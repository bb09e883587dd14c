// RefusalMemory: which free nodes are still to be offered, and to whom, for slots of one kind. It is what Greedy and Dl
// remember of refusals, so that a slot that every job refused is not offered again in vain.
//
// A node is unasked (it is to be offered to every job) or refused by all: every job that may run has refused it. A node
// of the second sort is offered again only to the jobs of which MayAcceptMore has been said since. Nodes are served in
// turn by id, and the turn goes on after the node that was taken last.
//
// Thread rule: one thread. A walk costs O(log nodes) for each node that it visits and for each change between free and
// not free nodes among those to be offered, by id.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/ordered_bits.h"

namespace millrace::sched {

class RefusalMemory {
 public:
  // kUnsure: the node was refused for a reason that may pass without notice, so it stays unasked.
  enum class Answer : std::uint8_t { kTaken, kRefused, kUnsure };

  // Forgets all refusals. Every node with a lower number than `node_ids` is unasked.
  void Reset(std::uint32_t node_ids);
  void Reset() { Reset(node_ids_); }
  // Takes note that from now on the job may take slots that it has refused.
  void MayAcceptMore(JobId job);
  // Takes note that the job has ended.
  void Forget(JobId job);

  // Calls offer(node, to_all) for the free nodes that are to be offered, in turn, until one is taken. If to_all is
  // false the node is to be offered to accepting_more() alone. Returns the node that was taken, or nothing.
  template <class Offer>
  std::optional<NodeId> Walk(const OrderedBits& free, const Offer& offer);
  // Calls offer(node), which returns true if the node is taken, for all free nodes in turn, also those refused by all.
  // Returns the node that was taken, or nothing.
  template <class Offer>
  std::optional<NodeId> WalkAll(const OrderedBits& free, const Offer& offer);
  // Returns the jobs of which MayAcceptMore has been said since the last Walk that found nobody.
  [[nodiscard]] const std::vector<JobId>& accepting_more() const { return accepting_more_; }
  // Returns the node whose turn is next, were it free.
  [[nodiscard]] NodeId turn() const { return NodeId{turn_}; }

 private:
  // More jobs than this that accept more are as good as all.
  static constexpr std::size_t kMostAcceptingMore = 16;

  // Returns the first free node to be offered in [from, end), or kNone.
  [[nodiscard]] std::uint32_t NextToOffer(const OrderedBits& free, std::uint32_t from, std::uint32_t end) const;
  void RecordRefusal(std::uint32_t node);
  void EndWalk();

  std::uint32_t node_ids_ = 0;
  std::uint32_t turn_ = 0;
  OrderedBits unasked_, refused_by_all_;
  OrderedBits to_recheck_;  // those refused by all that the jobs in accepting_more_ have not refused again yet
  std::vector<JobId> accepting_more_;
};

template <class Offer>
std::optional<NodeId> RefusalMemory::Walk(const OrderedBits& free, const Offer& offer) {
  const std::uint32_t parts[][2] = {{turn_, OrderedBits::kNone}, {0, turn_}};
  for (const auto& [begin, end] : parts) {
    for (std::uint32_t id = begin; (id = NextToOffer(free, id, end)) != OrderedBits::kNone; ++id) {
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
std::optional<NodeId> RefusalMemory::WalkAll(const OrderedBits& free, const Offer& offer) {
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
