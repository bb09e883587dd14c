// OfferBook: which free nodes are still to be offered, and to whom. Greedy's memory of refusals, for slots of one kind.
//
// A node is fresh (to be offered to every job) or settled: every job that may run refused it. A settled node is asked
// again only for the jobs that have grown since: that may take what they refused before. Nodes are served in turn by
// id, going on behind the node of the last decision.
//
// Thread rule: one thread. A walk costs O(log nodes) for each node that it visits and for each change between free and
// not free nodes among those to be offered, by id.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/core/ordered_bits.h"

namespace millrace::sched {

class OfferBook {
 public:
  // kUnsure: refused for a reason that may pass without notice; the node stays fresh.
  enum class Answer : std::uint8_t { kTaken, kRefused, kUnsure };

  // Every node below this number is fresh.
  void Reset(std::uint32_t node_ids);
  void Reset() { Reset(node_ids_); }
  // The job may take slots that it refused.
  void Grow(JobId job);
  void Forget(JobId job);

  // Offers free nodes in turn, until one is taken: offer(node, to_all), where not to_all means: to grown() alone.
  template <class Offer>
  std::optional<NodeId> Walk(const OrderedBits& free, const Offer& offer);
  // The same of all free nodes, settled ones too: offer(node) is true when it is taken.
  template <class Offer>
  std::optional<NodeId> WalkAll(const OrderedBits& free, const Offer& offer);
  [[nodiscard]] const std::vector<JobId>& grown() const { return grown_; }
  // Whose turn is next, were it free.
  [[nodiscard]] NodeId turn() const { return NodeId{turn_}; }

 private:
  // More than so many grown jobs are as good as all.
  static constexpr std::size_t kMaxGrown = 16;

  // The first free node to be offered in [from, end); kNone: none.
  [[nodiscard]] std::uint32_t NextToOffer(const OrderedBits& free, std::uint32_t from, std::uint32_t end) const;
  void Settle(std::uint32_t node);
  void EndWalk();

  std::uint32_t node_ids_ = 0;
  std::uint32_t turn_ = 0;
  OrderedBits fresh_, settled_;
  OrderedBits asked_;  // of the settled ones, those that the grown jobs have not refused yet
  std::vector<JobId> grown_;
};

template <class Offer>
std::optional<NodeId> OfferBook::Walk(const OrderedBits& free, const Offer& offer) {
  const std::uint32_t parts[][2] = {{turn_, OrderedBits::kNone}, {0, turn_}};
  for (const auto& [begin, end] : parts) {
    for (std::uint32_t id = begin; (id = NextToOffer(free, id, end)) != OrderedBits::kNone; ++id) {
      const Answer answer = offer(NodeId{id}, fresh_.Contains(id));
      if (answer == Answer::kTaken) {
        turn_ = id + 1;
        return NodeId{id};
      }
      if (answer == Answer::kRefused) Settle(id);
    }
  }
  EndWalk();
  return std::nullopt;
}

template <class Offer>
std::optional<NodeId> OfferBook::WalkAll(const OrderedBits& free, const Offer& offer) {
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
