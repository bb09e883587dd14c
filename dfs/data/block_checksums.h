// The checksums' file of a block (format in block_store.h), and what may be asked of a block.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/wire/block_name.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

inline constexpr std::size_t kChecksumsHeadBytes = 16;

[[nodiscard]] std::string EncodeChecksums(std::uint64_t length, const std::vector<std::uint32_t>& chunk_crcs);
// Size of the whole file for `length` bytes of data.
[[nodiscard]] constexpr std::uint64_t ChecksumsFileBytes(std::uint64_t length) {
  return kChecksumsHeadBytes + 4 * ChunkCount(length) + 4;
}
// The data's length that the first kChecksumsHeadBytes announce; none if they are not ours.
[[nodiscard]] std::optional<std::uint64_t> ChecksumsLength(std::string_view head);
// All of them; kCorrupt unless the file is intact and made for `length` bytes of data.
[[nodiscard]] Result<std::vector<std::uint32_t>> DecodeChecksums(std::string_view file, std::uint64_t length,
                                                                 std::uint64_t block);

// Whether `length` is one at which `appended` bytes may be cut.
[[nodiscard]] Status CheckCut(std::uint64_t block, std::uint64_t appended, std::uint64_t length);
// Whether [offset, offset + size) lies in a block of `length` bytes; kInvalid.
[[nodiscard]] Status CheckRange(std::uint64_t block, std::uint64_t length, std::uint64_t offset, std::uint64_t size);

}  // namespace millrace::dfs
