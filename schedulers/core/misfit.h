// SPDX-License-Identifier: Apache-2.0
// Misfits: jobs with a map whose expected output is larger than the room on any node. Thread rule: these are pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// The room for map outputs on the node that has the most room, less the expected outputs of the maps that run there.
struct Room {
  std::uint32_t nodes = 0;    // with slots for maps
  std::uint32_t avoided = 0;  // the avoided ones among these nodes
  NodeId roomiest;
  std::uint64_t bytes = 0;
  bool unknown = false;  // a node has not reported its room, so it is assumed to have enough

  [[nodiscard]] bool Holds(std::uint64_t output) const { return unknown || output <= bytes; }
};

using BytesByNode = std::vector<std::uint64_t>;  // indexed by node id; nodes beyond the end have 0

// Returns the room on the nodes that take maps; with kAvoidedToo, also on those that are avoided for now. `freed` is
// added to each node's room. O(nodes).
enum class Places : std::uint8_t { kThatTakeMaps, kAvoidedToo };
[[nodiscard]] Room RoomOn(const ClusterState& state, Places places, const BytesByNode& freed = {});
// Adds to *bytes, by node, the expected outputs of the job's maps that have succeeded. O(maps).
void AddOutputs(const JobState& job, BytesByNode* bytes);

// Returns true if some node has room for the largest pending map of the job. Requires: the job has a pending map.
[[nodiscard]] bool Fits(const JobState& job, const Room& room);
// Returns true if the job could run maps and there is at least one node, but `room` is too small for the job's largest
// pending map.
[[nodiscard]] bool IsMisfit(const JobState& job, const Room& room);
// Returns the reason why a misfit job fails, for the user: the output that does not fit, the text `nothing_helps`, and
// advice to the user. Requires: IsMisfit(job, room).
[[nodiscard]] std::string MisfitInWords(const JobState& job, const Room& room, const std::string& nothing_helps);

}  // namespace millrace::sched
