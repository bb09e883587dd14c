// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/node_judge.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace millrace::master {
namespace {

// The pairs of nodes of which the first reports the second.
class Reports {
 public:
  explicit Reports(const std::vector<NodeSigns>& nodes) : nodes_(nodes.size()) {
    for (const NodeSigns& node : nodes) known_.insert(node.node);
    for (const NodeSigns& node : nodes) {
      for (const NodeId other : node.unreached) {
        if (other == node.node || !known_.contains(other)) continue;
        names_[node.node].insert(other);
        apart_[node.node].insert(other);
        apart_[other].insert(node.node);
      }
    }
  }

  [[nodiscard]] std::size_t others() const { return nodes_ - 1; }
  [[nodiscard]] std::size_t Apart(NodeId node) const { return CountOf(apart_, node); }
  [[nodiscard]] std::size_t Names(NodeId node) const { return CountOf(names_, node); }
  [[nodiscard]] std::size_t NamedBy(NodeId node) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(names_, [node](const auto& of) { return of.second.contains(node); }));
  }
  [[nodiscard]] bool ToBlame(NodeId node) const {
    return Apart(node) >= Accusers() || (Names(node) >= 2 && 2 * Names(node) > others());
  }
  [[nodiscard]] bool StaysToBlame(NodeId node) const { return 2 * Apart(node) >= Accusers(); }
  [[nodiscard]] std::optional<NodeId> Worst() const {
    std::optional<NodeId> worst;
    for (const auto& [node, others] : apart_) {
      if (!ToBlame(node)) continue;
      if (!worst || std::pair(Apart(*worst), Names(*worst)) < std::pair(Apart(node), Names(node))) worst = node;
    }
    return worst;
  }
  void Remove(NodeId node) {
    for (auto* of : {&apart_, &names_}) {
      of->erase(node);
      for (auto& [other, nodes] : *of) nodes.erase(node);
    }
  }

 private:
  using Pairs = std::map<NodeId, std::set<NodeId>>;
  [[nodiscard]] std::size_t Accusers() const { return std::min(NodeJudge::kAccusers, others()); }
  static std::size_t CountOf(const Pairs& pairs, NodeId node) {
    const auto at = pairs.find(node);
    return at == pairs.end() ? 0 : at->second.size();
  }

  const std::size_t nodes_;
  std::set<NodeId> known_;
  Pairs names_, apart_;
};

Diagnosis OutOfReachOf(NodeId node, const Reports& reports) {
  const std::size_t by = reports.NamedBy(node), names = reports.Names(node);
  const std::string of = " of " + std::to_string(reports.others()) + " other nodes";
  return {Ailment::kOutOfReach,
          by >= names ? std::to_string(by) + of + " cannot reach it" : "it cannot reach " + std::to_string(names) + of};
}

// Returns true if some other node that does not ail has slots of each kind that this one has.
bool OthersServe(const NodeSigns& node, const std::vector<NodeSigns>& nodes,
                 const std::map<NodeId, Diagnosis>& ailing) {
  const auto serves = [&](std::uint32_t NodeSigns::*slots) {
    if (node.*slots == 0) return true;
    return std::ranges::any_of(nodes, [&](const NodeSigns& other) {
      return other.node != node.node && other.*slots > 0 && !ailing.contains(other.node);
    });
  };
  return serves(&NodeSigns::map_slots) && serves(&NodeSigns::reduce_slots);
}

const NodeSigns* Find(const std::vector<NodeSigns>& nodes, NodeId node) {
  const auto at = std::ranges::lower_bound(nodes, node, {}, &NodeSigns::node);
  return at == nodes.end() || at->node != node ? nullptr : &*at;
}

}  // namespace

bool NodeJudge::Ails(NodeId node, Ailment ailment) const {
  const auto at = ailing_.find(node);
  return at != ailing_.end() && at->second.ailment == ailment;
}

std::vector<NodeJudge::Suspect> NodeJudge::Slow(const std::vector<NodeSigns>& nodes) const {
  std::vector<std::pair<Micros, NodeId>> medians;
  for (const NodeSigns& node : nodes) {
    if (node.pace.syncs >= kLeastSyncs) medians.emplace_back(node.pace.median, node.node);
  }
  std::ranges::sort(medians);
  std::vector<Suspect> slow;
  if (medians.size() < 3) return slow;
  for (std::size_t i = medians.size(); i-- > 0;) {
    const auto& [median, node] = medians[i];
    // The middle of the others, the lower one of two.
    const std::size_t middle = (medians.size() - 2) / 2;
    const Micros others = medians[middle < i ? middle : middle + 1].first;
    const Micros limit = std::max(kSlowest, kTimesSlower * others);
    if (median < (Ails(node, Ailment::kSlowDisk) ? limit / 2 : limit)) continue;
    slow.push_back(
        {node,
         {Ailment::kSlowDisk, "the syncs of " + Find(nodes, node)->pace.disk + " take " + FormatDuration(median) +
                                  ", those of other nodes " + FormatDuration(others)}});
  }
  return slow;
}

std::vector<NodeJudge::Suspect> NodeJudge::OutOfReach(const std::vector<NodeSigns>& nodes) const {
  std::vector<Suspect> suspects;
  if (nodes.size() < 3) return suspects;
  const std::size_t most = nodes.size() / kShare;
  const Reports all(nodes);
  Reports left = all;
  for (const auto& [node, diagnosis] : ailing_) {
    if (diagnosis.ailment != Ailment::kOutOfReach || Find(nodes, node) == nullptr) continue;
    left.Remove(node);
    if (all.StaysToBlame(node)) suspects.push_back({node, OutOfReachOf(node, all)});
  }
  const std::size_t before = suspects.size();
  for (auto worst = left.Worst(); worst; worst = left.Worst()) {
    if (suspects.size() == most) {
      suspects.erase(suspects.begin() + static_cast<std::ptrdiff_t>(before), suspects.end());
      break;
    }
    suspects.push_back({*worst, OutOfReachOf(*worst, all)});
    left.Remove(*worst);
  }
  return suspects;
}

const std::map<NodeId, Diagnosis>& NodeJudge::Judge(const std::vector<NodeSigns>& nodes, Micros now) {
  // Nodes out of reach come before slow ones. Those that ail already come before others that are as bad, so that
  // no two take turns.
  std::vector<Suspect> suspects;
  for (std::vector<Suspect> alike : {OutOfReach(nodes), Slow(nodes)}) {
    std::ranges::stable_partition(alike, [this](const Suspect& suspect) { return ailing_.contains(suspect.node); });
    std::ranges::move(alike, std::back_inserter(suspects));
  }

  std::map<NodeId, Diagnosis> ailing;
  const std::size_t most = nodes.size() / kShare;
  const auto admit = [&](NodeId id, const Diagnosis& diagnosis) {
    const NodeSigns* node = Find(nodes, id);
    if (node == nullptr || ailing.size() >= most || ailing.contains(id) || !OthersServe(*node, nodes, ailing)) return;
    ailing.emplace(id, diagnosis);
  };
  for (const Suspect& suspect : suspects) {
    seen_[suspect.node] = now;
    admit(suspect.node, suspect.diagnosis);
  }
  for (const auto& [node, diagnosis] : ailing_) {
    if (now - seen_[node] < kWellFor) admit(node, diagnosis);
  }
  std::erase_if(seen_, [&](const auto& seen) { return !ailing.contains(seen.first); });
  ailing_ = std::move(ailing);
  return ailing_;
}

}  // namespace millrace::master
