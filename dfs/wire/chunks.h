// SPDX-License-Identifier: Apache-2.0
// Chunks and packets: the units in which blocks are checked and transferred; and BlockContent, by which a replica is
// verified. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::dfs {

inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;    // each has a checksum (crc32c)
inline constexpr std::size_t kPacketBytes = std::size_t{256} << 10;  // a whole number of chunks; unit of transfer

[[nodiscard]] constexpr std::uint64_t ChunkCount(std::uint64_t bytes) {
  return (bytes + kChunkBytes - 1) / kChunkBytes;
}

// The length and BlockCrc that every replica of a block has, on whatever node. The namespace stores them, so that a
// replica of another block, or of another cluster's block of the same number, is not mistaken for one of this block.
struct BlockContent {
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  bool operator==(const BlockContent&) const = default;
};

// Returns the checksum of a whole block: the crc32c of its chunks' checksums in order, each as four bytes,
// little-endian; 0 if there are none.
[[nodiscard]] std::uint32_t BlockCrc(std::span<const std::uint32_t> chunk_crcs);

// Returns kCorrupt, naming the block and both contents, unless the two are equal.
[[nodiscard]] Status CheckContent(std::uint64_t block, const BlockContent& expected, const BlockContent& found);

// Returns the checksums of `data` cut at kChunkBytes.
[[nodiscard]] std::vector<std::uint32_t> ChunkCrcs(std::string_view data);

// Checks `data` against the checksums of its chunks. Returns kCorrupt, naming the block and the number of the first bad
// chunk, counted from `first_chunk` (the chunk of the first byte of `data`).
[[nodiscard]] Status CheckChunks(std::string_view data, std::span<const std::uint32_t> crcs, std::uint64_t block,
                                 std::uint64_t first_chunk);

}  // namespace millrace::dfs
