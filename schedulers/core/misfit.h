// What does not fit: jobs with a map whose expected output is larger than the room that any node has for it. Thread
// rule: these are pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// The most room for map outputs that one node has, beside what the maps that run there are expected to write.
struct Room {
  std::uint32_t nodes = 0;    // with slots for maps
  std::uint32_t avoided = 0;  // of these
  NodeId roomiest;
  std::uint64_t bytes = 0;
  bool unknown = false;  // a node has not said what it has, so it is believed to have enough

  [[nodiscard]] bool Holds(std::uint64_t output) const { return unknown || output <= bytes; }
};

using BytesByNode = std::vector<std::uint64_t>;  // the id of a node is the index; what lies beyond the end is 0

// Returns the room on the nodes that take maps, or also on those that are avoided for now. `freed` is added to it.
// O(nodes).
enum class Places : std::uint8_t { kThatTakeMaps, kAvoidedToo };
[[nodiscard]] Room RoomOn(const ClusterState& state, Places places, const BytesByNode& freed = {});
// Adds what the outputs of the job's maps that have succeeded are expected to take on each node. O(maps).
void AddOutputs(const JobState& job, BytesByNode* bytes);

// Returns true if some node has room for the largest pending map of the job. Requires: the job has a pending map.
[[nodiscard]] bool Fits(const JobState& job, const Room& room);
// Returns true if the job could run maps, and the room, which is that on some nodes, is too small for the largest.
[[nodiscard]] bool IsMisfit(const JobState& job, const Room& room);
// Returns why the job fails, for which no node has room: what does not fit, that `nothing_helps`, and what the user can
// do. Requires: IsMisfit(job, room).
[[nodiscard]] std::string MisfitInWords(const JobState& job, const Room& room, const std::string& nothing_helps);

}  // namespace millrace::sched
