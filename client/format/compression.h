// What the first bytes of a file say of its compression: gzip (RFC 1952), zstd (RFC 8878) or bzip2.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/compressed_name.h"

namespace millrace {

// As many bytes from the beginning of a file tell all that CompressionOf can say.
inline constexpr std::size_t kCompressionBytes = 10;

// Returns what the first bytes of a file say. kNone if they are too few to tell, or begin like no compressed file.
[[nodiscard]] Compression CompressionOf(std::string_view first_bytes);

}  // namespace millrace
