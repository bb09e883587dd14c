// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/lsap_candidates.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "schedulers/policies/lsap/idle_slots.h"

namespace millrace::sched {
namespace {

constexpr std::uint64_t kFew = 2'048;  // pending maps that are all taken, whatever the slots
constexpr std::uint32_t kExactSlots = 512;
constexpr std::uint32_t kPerSlot = 64, kPerSlotAtFirst = 8;

class Collector {
 public:
  Collector(const ClusterState& state, CandidateReach reach, const CandidateGroups& groups)
      : state_(state), reach_(reach), groups_(groups) {
    for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) slots_ += FreeAt(id);
  }

  MapCandidates Collect() {
    const ClusterState::JobQueue& jobs = state_.RunnableJobs(TaskKind::kMap);
    std::uint64_t pending = 0;
    for (const QueueKey& key : jobs) pending += state_.FindJob(key.job)->pending_maps.all().size();
    MapCandidates candidates;
    candidates.all = pending <= std::max<std::uint64_t>(kFew, slots_);
    if (candidates.all) {
      for (const QueueKey& key : jobs) {
        for (const std::uint32_t map : state_.FindJob(key.job)->pending_maps.all()) {
          candidates.maps.push_back({key.job, map});
        }
      }
      return candidates;
    }
    if (reach_ == CandidateReach::kPlaces)
      CollectAroundFreeNodes();
    else
      for (const std::uint32_t id : state_.FreeNodes(TaskKind::kMap)) CollectOnNode(id, nullptr, nullptr);
    CollectFromQueue();
    candidates.maps = InOrder();
    return candidates;
  }

 private:
  // It says how many maps of each group a place still wants.
  struct Wanted {
    void Set(std::uint32_t groups, std::uint32_t of_each) {
      left.assign(groups, of_each);
      open = of_each > 0 ? groups : 0;
    }
    void CountOne(std::uint32_t group) {
      if (left[group] > 0 && --left[group] == 0) --open;
    }
    std::vector<std::uint32_t> left;  // by group; none where nothing is free
    std::uint32_t open = 0;           // groups with something left
  };
  struct Taken {
    QueueKey job;
    OrderedBits maps;
  };

  [[nodiscard]] std::uint32_t FreeAt(std::uint32_t id) const {
    return IdleSlots::FreeMapSlots(*state_.FindNode(NodeId{id}));
  }
  [[nodiscard]] std::uint32_t Limit(std::uint32_t free) const {
    const bool at_first = reach_ == CandidateReach::kNodes;
    if (slots_ <= (at_first ? kPerSlotAtFirst : kExactSlots)) return slots_;
    return std::min(slots_, free * (at_first ? kPerSlotAtFirst : kPerSlot));
  }
  OrderedBits* TakenOf(JobId job) {
    const auto [at, is_new] = number_of_.try_emplace(job.value, taken_.size());
    if (is_new) taken_.push_back({state_.FindJob(job)->key, {}});
    return &taken_[at->second].maps;
  }

  // Collects maps for the node, if a slot is free there, and for its rack and datacenter, if they want more.
  void CollectOnNode(std::uint32_t id, Wanted* rack, Wanted* datacenter) {
    const bool free = state_.FreeNodes(TaskKind::kMap).Contains(id);
    node_.Set(free ? groups_.count : 0, free ? Limit(FreeAt(id)) : 0);
    std::array<Wanted*, 3> places{};
    std::size_t count = 0;
    for (Wanted* place : {&node_, rack, datacenter}) {
      if (place != nullptr && place->open > 0) places[count++] = place;
    }
    CollectFor(NodeId{id}, std::span(places).first(count));
  }
  void CollectFor(NodeId node, std::span<Wanted* const> places) {
    if (places.empty()) return;
    state_.VisitLocalJobs(node, [&](JobId job) {
      const std::uint32_t group = groups_.of(job);
      std::uint32_t wanted = 0;
      for (const Wanted* place : places) wanted = std::max(wanted, place->left[group]);
      if (wanted == 0) {
        return std::any_of(places.begin(), places.end(), [](const Wanted* place) { return place->open > 0; });
      }
      OrderedBits* taken = TakenOf(job);
      state_.FindJob(job)->pending_maps.VisitAt(node, [&](std::uint32_t map) {
        taken->Insert(map);
        for (Wanted* place : places) place->CountOne(group);
        return --wanted > 0;
      });
      return true;
    });
  }

  // Collects for the racks and datacenters where something is free, from all nodes there.
  void CollectAroundFreeNodes() {
    const Topology& topology = state_.topology();
    std::vector<std::uint32_t> racks(topology.racks()), datacenters(topology.datacenters());
    for (const std::uint32_t id : state_.FreeNodes(TaskKind::kMap)) {
      racks[topology.Of(NodeId{id}).rack] += FreeAt(id);
      datacenters[topology.Of(NodeId{id}).datacenter] += FreeAt(id);
    }
    std::vector<Wanted> by_rack = WantedBy(racks), by_datacenter = WantedBy(datacenters);
    for (std::uint32_t id = 0; id < state_.node_ids(); ++id) {
      const Location at = topology.Of(NodeId{id});
      if (at.rack == Location::kNowhere) continue;
      CollectOnNode(id, by_rack.empty() ? nullptr : &by_rack[at.rack],
                    by_datacenter.empty() ? nullptr : &by_datacenter[at.datacenter]);
    }
  }
  // Returns what the places of a level want, by their free slots; nothing if the cluster does not have that level.
  [[nodiscard]] std::vector<Wanted> WantedBy(const std::vector<std::uint32_t>& free) const {
    if (free.size() <= 1) return {};
    std::vector<Wanted> wanted(free.size());
    for (std::size_t place = 0; place < free.size(); ++place) {
      if (free[place] > 0) wanted[place].Set(groups_.count, Limit(free[place]));
    }
    return wanted;
  }

  void CollectFromQueue() {
    node_.Set(groups_.count, slots_);
    for (const QueueKey& key : state_.RunnableJobs(TaskKind::kMap)) {
      if (node_.open == 0) return;
      const std::uint32_t group = groups_.of(key.job);
      if (node_.left[group] == 0) continue;
      OrderedBits* taken = TakenOf(key.job);
      for (const std::uint32_t map : state_.FindJob(key.job)->pending_maps.all()) {
        taken->Insert(map);
        node_.CountOne(group);
        if (node_.left[group] == 0) break;
      }
    }
  }

  std::vector<PendingMap> InOrder() {
    std::sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) { return a.job < b.job; });
    std::size_t count = 0;
    for (const Taken& taken : taken_) count += taken.maps.size();
    std::vector<PendingMap> maps;
    maps.reserve(count);
    for (const Taken& taken : taken_) {
      for (const std::uint32_t map : taken.maps) maps.push_back({taken.job.job, map});
    }
    return maps;
  }

  const ClusterState& state_;
  const CandidateReach reach_;
  const CandidateGroups& groups_;
  std::uint32_t slots_ = 0;
  Wanted node_;  // of the node that is looked at, then of the queue
  std::vector<Taken> taken_;
  std::unordered_map<std::uint32_t, std::size_t> number_of_;  // in taken_, by job id; looked up, not walked
};

}  // namespace

MapCandidates CollectCandidates(const ClusterState& state, CandidateReach reach, const CandidateGroups& groups) {
  return Collector(state, reach, groups).Collect();
}

}  // namespace millrace::sched
