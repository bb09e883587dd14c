// HashPartition chooses the reduce of a key in a job without a Partition of its own. A job that sends keys to reduces
// by a part of the key passes that part to it:
//   static std::uint32_t Partition(const std::string_view& key, std::uint32_t partitions) {
//     return millrace::HashPartition(key.substr(0, key.find('\t')), partitions);
//   }
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "worker/task/collect/partition.h"

namespace millrace {

// Returns a number below `partitions` that depends on the bytes alone, the same on every machine and in every version.
[[nodiscard]] inline std::uint32_t HashPartition(std::string_view key, std::uint32_t partitions) {
  return map::PartitionOf(map::HashKey(key), partitions);
}

}  // namespace millrace
