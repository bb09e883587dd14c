#include "schedulers/policies/lsap_candidates.h"

#include <algorithm>

#include "schedulers/parts/assignment/idle_slots.h"

namespace millrace::sched {
namespace {

constexpr std::uint64_t kFew = 2'048;          // pending maps that are all taken, whatever the slots
constexpr std::uint32_t kExactSlots = 512;
constexpr std::uint32_t kPerSlot = 64, kPerSlotAtFirst = 8;

class Collector {
 public:
  Collector(const ClusterState& state, CandidateReach reach, const CandidateGroups& groups)
      : state_(state), reach_(reach), groups_(groups), left_(groups.count) {
    for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) slots_ += FreeAt(id);
  }

  MapCandidates Collect() {
    const ClusterState::JobQueue& jobs = state_.RunnableJobs(TaskKind::kMap);
    std::uint64_t pending = 0;
    for (const QueueKey& key : jobs) pending += state_.FindJob(key.job)->pending_maps.all().size();
    const bool all = pending <= std::max<std::uint64_t>(kFew, slots_);
    if (all) {
      TakeQueue(pending);
    } else {
      for (const std::uint32_t id : state_.FreeNodes(TaskKind::kMap)) TakeAt(NodeId{id}, Limit(FreeAt(id)), &left_);
      if (reach_ == CandidateReach::kPlaces) TakeAroundFreeNodes();
      TakeQueue(slots_);
    }
    return {Sorted(), all};
  }

 private:
  struct Pick {
    QueueKey job;
    std::uint32_t map;
    auto operator<=>(const Pick&) const = default;
  };

  [[nodiscard]] std::uint32_t FreeAt(std::uint32_t id) const {
    return IdleSlots::FreeMapSlots(*state_.FindNode(NodeId{id}));
  }
  [[nodiscard]] std::uint32_t Limit(std::uint32_t free) const {
    const bool at_first = reach_ == CandidateReach::kNodes;
    if (slots_ <= (at_first ? kPerSlotAtFirst : kExactSlots)) return slots_;
    return std::min(slots_, free * (at_first ? kPerSlotAtFirst : kPerSlot));
  }

  // So many of each group with their data on the node.
  void TakeAt(NodeId node, std::uint32_t limit, std::vector<std::uint32_t>* left) {
    left->assign(groups_.count, limit);
    TakeRestAt(node, left);
  }
  void TakeRestAt(NodeId node, std::vector<std::uint32_t>* left) {
    for (const QueueKey& key : state_.LocalJobs(node)) {
      std::uint32_t& wanted = (*left)[groups_.of(key.job)];
      if (wanted == 0) {
        if (std::all_of(left->begin(), left->end(), [](std::uint32_t n) { return n == 0; })) return;
        continue;
      }
      for (const std::uint32_t map : state_.FindJob(key.job)->pending_maps.At(node)) {
        if (wanted == 0) break;
        picks_.push_back({key, map});
        --wanted;
      }
    }
  }

  // The same for the racks and datacenters where something is free, from all nodes there.
  void TakeAroundFreeNodes() {
    const Topology& topology = state_.topology();
    std::vector<std::uint32_t> racks(topology.racks()), datacenters(topology.datacenters());
    for (const std::uint32_t id : state_.FreeNodes(TaskKind::kMap)) {
      racks[topology.Of(NodeId{id}).rack] += FreeAt(id);
      datacenters[topology.Of(NodeId{id}).datacenter] += FreeAt(id);
    }
    if (racks.size() > 1) TakeByPlace(racks, [&](Location at) { return at.rack; });
    if (datacenters.size() > 1) TakeByPlace(datacenters, [&](Location at) { return at.datacenter; });
  }
  template <class PlaceOf>
  void TakeByPlace(const std::vector<std::uint32_t>& free, const PlaceOf& place_of) {
    std::vector<std::vector<std::uint32_t>> left(free.size());
    for (std::size_t place = 0; place < free.size(); ++place) {
      if (free[place] > 0) left[place].assign(groups_.count, Limit(free[place]));
    }
    for (std::uint32_t id = 0; id < state_.node_ids(); ++id) {
      const Location at = state_.topology().Of(NodeId{id});
      if (at.rack != Location::kNowhere && free[place_of(at)] > 0) TakeRestAt(NodeId{id}, &left[place_of(at)]);
    }
  }

  void TakeQueue(std::uint64_t limit) {
    std::vector<std::uint64_t> left(groups_.count, limit);
    std::uint32_t open = limit > 0 ? groups_.count : 0;
    for (const QueueKey& key : state_.RunnableJobs(TaskKind::kMap)) {
      if (open == 0) return;
      std::uint64_t& wanted = left[groups_.of(key.job)];
      if (wanted == 0) continue;
      for (const std::uint32_t map : state_.FindJob(key.job)->pending_maps.all()) {
        picks_.push_back({key, map});
        if (--wanted == 0) break;
      }
      if (wanted == 0) --open;
    }
  }

  std::vector<PendingMap> Sorted() {
    std::sort(picks_.begin(), picks_.end());
    picks_.erase(std::unique(picks_.begin(), picks_.end()), picks_.end());
    std::vector<PendingMap> maps;
    maps.reserve(picks_.size());
    for (const Pick& pick : picks_) maps.push_back({pick.job.job, pick.map});
    return maps;
  }

  const ClusterState& state_;
  const CandidateReach reach_;
  const CandidateGroups& groups_;
  std::uint32_t slots_ = 0;
  std::vector<std::uint32_t> left_;  // by group
  std::vector<Pick> picks_;
};

}  // namespace

MapCandidates CollectCandidates(const ClusterState& state, CandidateReach reach, const CandidateGroups& groups) {
  return Collector(state, reach, groups).Collect();
}

}  // namespace millrace::sched
