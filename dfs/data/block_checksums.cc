// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/block_checksums.h"

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace::dfs {
namespace {

constexpr std::uint64_t kMagic = 0x315343524b4c424d;  // "MBLKRCS1"

}  // namespace

std::string EncodeChecksums(std::uint64_t length, const std::vector<std::uint32_t>& chunk_crcs) {
  Encoder out;
  out.U64(kMagic);
  out.U64(length);
  for (const std::uint32_t crc : chunk_crcs) out.U32(crc);
  out.U32(Crc32c(out.bytes()));
  return out.Take();
}

std::optional<std::uint64_t> ChecksumsLength(std::string_view head) {
  Decoder in(head);
  const std::uint64_t magic = in.U64();
  const std::uint64_t length = in.U64();
  if (in.failed() || magic != kMagic) return std::nullopt;
  return length;
}

Result<std::vector<std::uint32_t>> DecodeChecksums(std::string_view file, std::uint64_t length, std::uint64_t block) {
  const std::string what = BlockName(block) + ": its checksums' file";
  if (file.size() != ChecksumsFileBytes(length) || ChecksumsLength(file) != length) {
    return Corrupt(what + " does not fit its " + std::to_string(length) + " bytes");
  }
  Decoder in(file.substr(kChecksumsHeadBytes));
  std::vector<std::uint32_t> crcs(ChunkCount(length));
  for (std::uint32_t& crc : crcs) crc = in.U32();
  if (in.U32() != Crc32c(file.substr(0, file.size() - 4))) return Corrupt(what + " has a wrong checksum of its own");
  return crcs;
}

Status CheckCut(std::uint64_t block, std::uint64_t appended, std::uint64_t length) {
  if (length <= appended && (length == appended || length % kChunkBytes == 0)) return Status::Ok();
  return Invalid("finish " + BlockName(block) + " at byte " + std::to_string(length) + ": it has " +
                 std::to_string(appended) + " and can be cut between chunks only");
}

Status CheckRange(std::uint64_t block, std::uint64_t length, std::uint64_t offset, std::uint64_t size) {
  if (offset <= length && size <= length - offset) return Status::Ok();
  return Invalid("read " + BlockName(block) + ": " + std::to_string(size) + " bytes from byte " +
                 std::to_string(offset) + ", but it has " + std::to_string(length));
}

}  // namespace millrace::dfs
