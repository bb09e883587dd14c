// SPDX-License-Identifier: Apache-2.0
// The checksums file of a block (format in block_store.h), and checks of requested ranges. Thread rule: free functions,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

inline constexpr std::size_t kChecksumsHeadBytes = 16;

[[nodiscard]] std::string EncodeChecksums(std::uint64_t length, const std::vector<std::uint32_t>& chunk_crcs);
// Returns the size of the whole file for `length` bytes of data.
[[nodiscard]] constexpr std::uint64_t ChecksumsFileBytes(std::uint64_t length) {
  return kChecksumsHeadBytes + 4 * ChunkCount(length) + 4;
}
// Returns the length of the data from the first kChecksumsHeadBytes, or nothing if they do not begin a checksums file.
[[nodiscard]] std::optional<std::uint64_t> ChecksumsLength(std::string_view head);
// Returns all checksums, or kCorrupt if the file is damaged or was made for another length of data.
[[nodiscard]] Result<std::vector<std::uint32_t>> DecodeChecksums(std::string_view file, std::uint64_t length,
                                                                 std::uint64_t block);

// Returns OK if a block of `appended` bytes may be cut at `length`, and kInvalid otherwise.
[[nodiscard]] Status CheckCut(std::uint64_t block, std::uint64_t appended, std::uint64_t length);
// Returns kInvalid unless [offset, offset + size) lies in a block of `length` bytes.
[[nodiscard]] Status CheckRange(std::uint64_t block, std::uint64_t length, std::uint64_t offset, std::uint64_t size);

}  // namespace millrace::dfs
