// SPDX-License-Identifier: Apache-2.0
#include "master/control/node_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::master {
namespace {

const char* InWords(Ailment ailment) {
  return ailment == Ailment::kSlowDisk ? "its disk is slow" : "it is out of reach";
}

}  // namespace

void FollowDraining(const NodeRecord& node, dfs::BlockManager& blocks) {
  blocks.SetLeaving(node.number, node.leaving.has_value());
  blocks.SetAiling(node.number, node.ailing.has_value());
  if (!node.InMaintenance()) blocks.SetMaintenance(node.number, false);
  blocks.SetDraining(node.number, node.Drains());
  if (node.InMaintenance()) blocks.SetMaintenance(node.number, true);
}

void FollowDraining(const NodeRecord& node, dfs::BlockManager& blocks, JobTracker& jobs, Step* step) {
  FollowDraining(node, blocks);
  jobs.NodeTakesTasks(node.number, node.TakesTasks(), step);
}

void NodeWatch::Heard(NodeId node, const std::vector<DiskPace>& disks, const std::vector<UnreachedPeer>& unreached) {
  Said& said = said_[node];
  said = {};
  const auto rank = [](const DiskPace& disk) { return std::pair(disk.syncs >= NodeJudge::kLeastSyncs, disk.median); };
  for (const DiskPace& disk : disks) {
    if (said.pace.syncs == 0 || rank(disk) > rank(said.pace)) said.pace = disk;
  }
  if (NodeRecord* record = nodes_.Find(node)) record->pace = said.pace;
  for (const UnreachedPeer& peer : unreached) {
    if (const auto other = At(peer)) said.unreached[*other] = peer.failures;
  }
}

std::optional<NodeId> NodeWatch::At(const UnreachedPeer& peer) const {
  for (const auto& [number, node] : nodes_.all()) {
    if (node.alive && node.facts.port == peer.port && node.facts.host == peer.host) return number;
  }
  return std::nullopt;
}

void NodeWatch::Doubt(NodeId node) {
  const NodeRecord* record = nodes_.Find(node);
  if (record != nullptr && record->alive) doubted_[node] = clock_.Awake();
}

void NodeWatch::Forget(NodeId node) {
  said_.erase(node);
  turns_.erase(node);
}

std::vector<NodeId> NodeWatch::ToLookAt(NodeId asker) {
  std::erase_if(doubted_, [&](const auto& doubt) { return clock_.Awake() - doubt.second >= kDoubtedFor; });
  std::set<NodeId> wanted;
  for (const auto& [node, since] : doubted_) wanted.insert(node);
  bool concerned = doubted_.contains(asker);
  for (const auto& [node, said] : said_) {
    for (const auto& [other, failures] : said.unreached) {
      wanted.insert(other);
      concerned = concerned || node == asker || other == asker;
    }
  }
  std::vector<NodeId> look;
  const auto add = [&](NodeId node) {
    const NodeRecord* record = nodes_.Find(node);
    if (node != asker && record != nullptr && record->alive && look.size() < kMostLooks) look.push_back(node);
  };
  // Doubtful nodes come first, in turns if they are too many.
  auto& [next, last_doubted] = turns_[asker];
  const auto from = wanted.upper_bound(last_doubted);
  for (auto at = from; at != wanted.end(); ++at) add(*at);
  for (auto at = wanted.begin(); at != from; ++at) add(*at);
  if (!look.empty()) last_doubted = look.back();
  // Besides, it looks at one node after the other, and at many at once while something is wrong with its own node.
  const auto& all = nodes_.all();
  const std::size_t most = concerned ? kMostLooks : std::min(kMostLooks, look.size() + 1);
  for (std::size_t left = all.size(); left > 0 && look.size() < most; --left) {
    auto at = all.upper_bound(next);
    if (at == all.end()) at = all.begin();
    next = at->first;
    if (std::ranges::find(look, next) == look.end()) add(next);
  }
  return look;
}

std::vector<NodeSigns> NodeWatch::Signs() const {
  std::vector<NodeSigns> signs;
  for (const auto& [number, node] : nodes_.all()) {
    if (!node.alive || node.Drains() || node.maintenance) continue;
    NodeSigns& sign = signs.emplace_back(NodeSigns{number, node.facts.map_slots, node.facts.reduce_slots, {}, {}});
    if (node.no_room) sign.map_slots = sign.reduce_slots = 0;
    const auto said = said_.find(number);
    if (said == said_.end()) continue;
    sign.pace = said->second.pace;
    for (const auto& [other, failures] : said->second.unreached) {
      if (failures >= kLeastFailures) sign.unreached.push_back(other);
    }
  }
  return signs;
}

void NodeWatch::Judge() {
  if (!avoid_) return;
  const std::map<NodeId, Diagnosis>& ailing = judge_.Judge(Signs(), clock_.Awake());
  std::vector<NodeId> numbers;
  for (const auto& [number, node] : nodes_.all()) {
    if (node.alive && (node.ailing || ailing.contains(number))) numbers.push_back(number);
  }
  for (const NodeId number : numbers) {
    const auto found = ailing.find(number);
    Follow(*nodes_.Find(number), found == ailing.end() ? nullptr : &found->second);
  }
}

void NodeWatch::Follow(NodeRecord& node, const Diagnosis* diagnosis) {
  const bool news = !node.ailing != (diagnosis == nullptr) ||
                    (diagnosis != nullptr && node.ailing->diagnosis.ailment != diagnosis->ailment);
  const Micros since = node.ailing ? node.ailing->since : clock_.Awake();
  if (diagnosis == nullptr) {
    node.ailing.reset();
  } else {
    node.ailing = Ailing{*diagnosis, since};
  }
  if (!news) return;
  const std::string worker = fmt::format("worker {} at {}:{}", node.number.value, node.facts.host, node.facts.port);
  Step step = steps_.Begin();
  FollowDraining(node, blocks_, jobs_, &step);
  if (diagnosis == nullptr && (node.Drains() || node.maintenance)) {
    log_->info("{} is {}, and is no longer watched", worker, node.Drains() ? "drained" : "in maintenance");
  } else if (diagnosis == nullptr) {
    log_->info("{}: it is well again, and gets tasks and blocks", worker);
  } else {
    log_->warn("{} is ailing: {}: {}; no tasks go there, and no blocks that others can take, until it is well", worker,
               InWords(diagnosis->ailment), diagnosis->reason);
    if (diagnosis->ailment == Ailment::kOutOfReach)
      jobs_.GiveUpOn(node.number, "its node is out of reach: " + diagnosis->reason, &step);
  }
  steps_.FinishLazily(std::move(step));
}

}  // namespace millrace::master
