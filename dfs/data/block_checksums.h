// The checksums' file of a block (format in block_store.h), and checks of what is asked of a block. Thread rule: free
// functions, any thread.
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
// Returns the size of the whole file for `length` bytes of data.
[[nodiscard]] constexpr std::uint64_t ChecksumsFileBytes(std::uint64_t length) {
  return kChecksumsHeadBytes + 4 * ChunkCount(length) + 4;
}
// Returns the data's length by the first kChecksumsHeadBytes, or nothing if they are not of a checksums' file.
[[nodiscard]] std::optional<std::uint64_t> ChecksumsLength(std::string_view head);
// Returns all checksums, or kCorrupt unless the file is intact and made for `length` bytes of data.
[[nodiscard]] Result<std::vector<std::uint32_t>> DecodeChecksums(std::string_view file, std::uint64_t length,
                                                                 std::uint64_t block);

// Returns OK if `appended` bytes may be cut at `length`.
[[nodiscard]] Status CheckCut(std::uint64_t block, std::uint64_t appended, std::uint64_t length);
// Returns kInvalid unless [offset, offset + size) lies in a block of `length` bytes.
[[nodiscard]] Status CheckRange(std::uint64_t block, std::uint64_t length, std::uint64_t offset, std::uint64_t size);

}  // namespace millrace::dfs
