// SPDX-License-Identifier: Apache-2.0
#include "schedulers/core/misfit.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace millrace::sched {
namespace {

// "1.5 GiB", "12 B"
std::string BytesInWords(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); value /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ", value);
  return text + std::string(kUnits[unit]);
}

}  // namespace

Room RoomOn(const ClusterState& state, Places places, const BytesByNode& freed) {
  Room room;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->InUse() || node->limits.maps == 0) continue;
    if (node->avoided && places == Places::kThatTakeMaps) continue;
    const std::uint64_t free = node->free_bytes.value_or(0) + (id < freed.size() ? freed[id] : 0);
    const std::uint64_t bytes = free - std::min(free, node->reserved_bytes);
    room.unknown |= !node->free_bytes;
    room.avoided += node->avoided ? 1 : 0;
    if (room.nodes++ > 0 && bytes <= room.bytes) continue;
    room.roomiest = node->id, room.bytes = bytes;
  }
  return room;
}

void AddOutputs(const JobState& job, BytesByNode* bytes) {
  if (job.progress.reduces == 0) return;
  for (std::uint32_t map = 0; map < job.maps.size(); ++map) {
    if (!job.maps[map].succeeded()) continue;
    const std::uint32_t node = job.maps[map].ran_on.value;
    if (node >= bytes->size()) bytes->resize(node + 1);
    (*bytes)[node] += job.ExpectedOutput(map);
  }
}

bool Fits(const JobState& job, const Room& room) {
  return room.unknown || room.Holds(job.ExpectedOutputOf(job.pending_maps.Largest(job.spec.maps)));
}

bool IsMisfit(const JobState& job, const Room& room) {
  return job.runnable[kMapSlot] && room.nodes > 0 && !Fits(job, room);
}

std::string MisfitInWords(const JobState& job, const Room& room, const std::string& nothing_helps) {
  const OrderedBits& pending = job.pending_maps.all();
  const std::uint64_t largest = job.pending_maps.Largest(job.spec.maps);
  const std::uint32_t map = *std::find_if(pending.begin(), pending.end(),
                                          [&](std::uint32_t each) { return job.spec.maps[each].bytes == largest; });
  const std::string avoided =
      room.avoided == 0 ? ""
                        : " (" + std::to_string(room.avoided) + " of them not now, since too many jobs failed there)";
  const std::string roomiest = std::to_string(room.roomiest.value);
  const std::string where = room.nodes == 1 ? "the only worker that takes maps, " + roomiest + ", has "
                                            : "of " + std::to_string(room.nodes) + " workers that take maps" + avoided +
                                                  " worker " + roomiest + " has most room, ";
  return "its map outputs do not fit: map " + std::to_string(map) + " is expected to write " +
         BytesInWords(job.ExpectedOutput(map)) + ", and " + where + BytesInWords(room.bytes) + "; " + nothing_helps +
         ". Free space on the workers' disks or add workers, or have the maps write less (a combiner, compression)";
}

}  // namespace millrace::sched
