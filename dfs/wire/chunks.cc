// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/chunks.h"

#include <bit>
#include <string>

#include "base/crc32c.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {

namespace {

std::string Describe(const BlockContent& content) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string text = std::to_string(content.length) + " bytes with checksum ";
  for (int shift = 28; shift >= 0; shift -= 4) text += kHexDigits[content.crc >> shift & 15];
  return text;
}

}  // namespace

std::uint32_t BlockCrc(std::span<const std::uint32_t> chunk_crcs) {
  static_assert(std::endian::native == std::endian::little);
  const auto bytes = std::as_bytes(chunk_crcs);
  return Crc32c({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status CheckContent(std::uint64_t block, const BlockContent& expected, const BlockContent& found) {
  if (found == expected) return Status::Ok();
  return Corrupt(BlockName(block) + ": " + Describe(found) + " instead of " + Describe(expected) +
                 ", so these are not the block's bytes");
}

std::vector<std::uint32_t> ChunkCrcs(std::string_view data) {
  std::vector<std::uint32_t> crcs;
  crcs.reserve(ChunkCount(data.size()));
  for (std::size_t at = 0; at < data.size(); at += kChunkBytes) crcs.push_back(Crc32c(data.substr(at, kChunkBytes)));
  return crcs;
}

Status CheckChunks(std::string_view data, std::span<const std::uint32_t> crcs, std::uint64_t block,
                   std::uint64_t first_chunk) {
  const std::string name = BlockName(block);
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
