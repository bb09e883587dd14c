// SPDX-License-Identifier: Apache-2.0
// Recognises a file's compression by its first bytes: gzip (RFC 1952), zstd (RFC 8878) or bzip2.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/compressed_name.h"

namespace millrace {

// The most bytes from the beginning of a file that CompressionOf looks at.
inline constexpr std::size_t kCompressionBytes = 10;

// Returns the compression that the first bytes of a file show. Returns kNone if the bytes are too few, or do not begin
// a compressed file.
[[nodiscard]] Compression CompressionOf(std::string_view first_bytes);

}  // namespace millrace
