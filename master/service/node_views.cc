// SPDX-License-Identifier: Apache-2.0
#include "master/service/node_views.h"

#include <algorithm>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "master/control/wire_codec.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {
namespace {

void WriteAvoided(const NodeViewParts& master, NodeId node, wire::NodeStatus::Builder out) {
  constexpr std::size_t kMostAvoiding = 8;
  const sched::ClusterState& cluster = master.jobs.cluster();
  if (!cluster.Avoids(node)) return;
  const auto& jobs = cluster.blames().at(node);
  auto by = out.initAvoidedBy(static_cast<unsigned>(std::min(jobs.size(), kMostAvoiding)));
  auto job = jobs.begin();
  for (unsigned i = 0; i < by.size(); ++i, ++job) by.set(i, job->first.value);
  const Micros left = std::max(cluster.AvoidedUntil(node) - master.clock.Now(), kMillisecond);
  out.setAvoidedMillis(static_cast<std::uint64_t>(left / kMillisecond));
}

}  // namespace

wire::GoState GoStateOf(Clearance clearance) {
  switch (clearance) {
    case Clearance::kUnknown:
      return wire::GoState::UNKNOWN;
    case Clearance::kLost:
      return wire::GoState::LOST;
    case Clearance::kInUse:
      return wire::GoState::IN_USE;
    case Clearance::kHeld:
      return wire::GoState::HELD;
    case Clearance::kBlocks:
      return wire::GoState::BLOCKS;
    case Clearance::kDoubt:
      return wire::GoState::DOUBT;
    case Clearance::kTasks:
      return wire::GoState::TASKS;
    case Clearance::kOutputs:
      return wire::GoState::OUTPUTS;
    case Clearance::kYes:
      return wire::GoState::YES;
  }
  return wire::GoState::UNKNOWN;
}

void WriteNode(const NodeViewParts& master, const NodeRecord& node, wire::NodeStatus::Builder out) {
  out.setNode(node.number.value);
  Write(node, out.initInfo());
  out.setAlive(node.alive);
  out.setDraining(node.draining);
  if (node.maintenance && !node.Drains()) {
    const Micros left = std::max<Micros>(kMillisecond, node.maintenance->until - master.clock.Now());
    out.setMaintenanceMillis(static_cast<std::uint64_t>(left / kMillisecond));
    out.setReason(node.maintenance->reason);
  } else {
    out.setReason(node.drain_reason);
  }
  const NodeStand stand = master.workers.StandOf(node);
  const Clearance clearance = ClearanceOf(stand);
  out.setMayGo(GoStateOf(clearance));
  out.setDrained(clearance == Clearance::kYes);
  if (node.alive && node.leaving) Write(*node.leaving, master.clock.Awake(), out.initLeaving());
  if (node.alive && node.Drains()) out.setOutputsLeft(stand.outputs);
  out.setBlocksLeft(stand.blocks_left.value_or(node.space.blocks));
  auto stats = out.initStats();
  stats.setCapacity(node.space.capacity);
  stats.setFree(node.space.free);
  stats.setUsed(node.space.used);
  stats.setBlocks(node.space.blocks);
  stats.setTrashed(node.space.trashed);
  stats.setPython(node.python);
  if (node.pace.syncs > 0) {
    auto disk = stats.initDisks(1)[0];
    disk.setDisk(node.pace.disk);
    disk.setSyncs(node.pace.syncs);
    disk.setMedianMicros(static_cast<std::uint64_t>(node.pace.median));
    disk.setWorstMicros(static_cast<std::uint64_t>(node.pace.worst));
  }
  if (node.alive && node.ailing) {
    out.setAiling(node.ailing->diagnosis.reason);
    out.setAilingMillis(static_cast<std::uint64_t>((master.clock.Awake() - node.ailing->since) / kMillisecond));
  }
  const dfs::UnknownBlocks unknown = master.files.blocks().UnknownOn(node.number);
  out.setUnknownBlocks(unknown.count);
  out.setUnknownHeld(unknown.held);
  out.setAwaited(master.workers.Awaits(node));
  WriteAvoided(master, node.number, out);
  const auto [maps, reduces] = master.jobs.RunningOn(node.number);
  out.setMapsRunning(maps);
  out.setReducesRunning(reduces);
  out.setLastHeartbeatMillisAgo(master.workers.MillisSilent(node));
}

}  // namespace millrace::master
