// SPDX-License-Identifier: Apache-2.0
// Clearance says whether a node may be taken away for good, with its disks. `node decommission`, the playbook that
// shrinks a cluster, `node list` and `node forget` all use this one answer. Workers::StandOf collects the facts for it.
// Pure. Thread rule: any.
//
// kYes stays true until somebody takes the node back into use, or the database is found to be in doubt. A node that
// drains gets no tasks, is not a target of writes, copies and moves of outputs, and its replicas do not justify the
// deletion of others. It is not cleared while blocks or tasks that were given to it earlier may still arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::master {

// The values are in the order of the checks; each means that none of the values before it applies.
enum class Clearance : std::uint8_t {
  kUnknown,  // workers that may have replicas are awaited, the node has not listed its blocks, or nothing can be stored
  kLost,     // the node is lost; what only it had is missing
  kInUse,    // the node does not drain: nobody wants it to go
  kHeld,     // it has too many blocks without a file, and nobody has decided about them
  kBlocks,   // it has, or may be receiving, blocks that have too few replicas elsewhere
  kDoubt,    // the database may be too old: the node's trash or its blocks without a file may be all that is left of
             // files
  kTasks,    // tasks run there
  kOutputs,  // reduces may need map outputs that it alone has
  kYes,
};

// The master's knowledge of a node.
struct NodeStand {
  bool complete = false;  // no awaited worker can change the other fields, and their state is stored or will be
  bool alive = false;
  bool drains = false;
  bool unknown_held = false;  // as in UnknownBlocks::held
  std::optional<std::uint64_t>
      blocks_left;           // with too few replicas elsewhere; none: the node has not listed its blocks
  bool doubted = false;      // blocks without a file, or its trash, may be needed (Doubt)
  std::uint64_t writes = 0;  // blocks of open files that only this node may have or be receiving
  std::uint32_t tasks = 0;
  std::uint64_t outputs = 0;
};

[[nodiscard]] constexpr Clearance ClearanceOf(const NodeStand& stand) {
  if (!stand.complete) return Clearance::kUnknown;
  if (!stand.alive) return Clearance::kLost;
  if (!stand.drains) return Clearance::kInUse;
  if (!stand.blocks_left) return Clearance::kUnknown;
  if (stand.unknown_held) return Clearance::kHeld;
  if (*stand.blocks_left + stand.writes > 0) return Clearance::kBlocks;
  if (stand.doubted) return Clearance::kDoubt;
  if (stand.tasks > 0) return Clearance::kTasks;
  return stand.outputs > 0 ? Clearance::kOutputs : Clearance::kYes;
}

}  // namespace millrace::master
