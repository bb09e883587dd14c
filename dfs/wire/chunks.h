// Chunks and packets: the units in which blocks are checked and transferred.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::dfs {

inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;    // a checksum (crc32c) each
inline constexpr std::size_t kPacketBytes = std::size_t{256} << 10;  // a whole number of chunks; unit of transfer

[[nodiscard]] constexpr std::uint64_t ChunkCount(std::uint64_t bytes) {
  return (bytes + kChunkBytes - 1) / kChunkBytes;
}

// The checksums of `data` cut at kChunkBytes.
[[nodiscard]] std::vector<std::uint32_t> ChunkCrcs(std::string_view data);

// `data` against the checksums of its chunks. kCorrupt names the block and the first bad chunk's number, counted from
// `first_chunk` (that of data's first byte).
[[nodiscard]] Status CheckChunks(std::string_view data, std::span<const std::uint32_t> crcs, std::uint64_t block,
                                 std::uint64_t first_chunk);

}  // namespace millrace::dfs
