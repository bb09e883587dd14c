#include "dfs/wire/chunks.h"

#include <string>

#include "base/crc32c.h"

namespace millrace::dfs {

std::vector<std::uint32_t> ChunkCrcs(std::string_view data) {
  std::vector<std::uint32_t> crcs;
  crcs.reserve(ChunkCount(data.size()));
  for (std::size_t at = 0; at < data.size(); at += kChunkBytes) crcs.push_back(Crc32c(data.substr(at, kChunkBytes)));
  return crcs;
}

Status CheckChunks(std::string_view data, std::span<const std::uint32_t> crcs, std::uint64_t block,
                   std::uint64_t first_chunk) {
  const std::string name = "block " + std::to_string(block);
  if (crcs.size() != ChunkCount(data.size())) {
    return Corrupt(name + ": " + std::to_string(crcs.size()) + " checksums for " + std::to_string(data.size()) +
                   " bytes");
  }
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    if (Crc32c(data.substr(i * kChunkBytes, kChunkBytes)) != crcs[i]) {
      return Corrupt(name + ": wrong checksum in chunk " + std::to_string(first_chunk + i));
    }
  }
  return Status::Ok();
}

}  // namespace millrace::dfs
