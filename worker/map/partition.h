// Which reduce gets a key: the same on every machine and in every version, because a job's output files depend on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::map {

// 64-bit hash of key bytes (a fast one of ours, frozen: tests hold its values). Used for partitions and for hash tables.
[[nodiscard]] std::uint64_t HashKey(std::string_view key);

// Default partitioner: the upper half of the hash, scaled to [0, partitions).
[[nodiscard]] inline std::uint32_t PartitionOf(std::uint64_t hash, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(((hash >> 32) * partitions) >> 32);
}

}  // namespace millrace::map
