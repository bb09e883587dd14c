// SPDX-License-Identifier: Apache-2.0
// Compression as gzip has it, of what fits into memory. Pure. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// Returns `bytes` with the header and the checksum of gzip (RFC 1952), at zlib's default level.
[[nodiscard]] std::string Gzip(std::string_view bytes);

}  // namespace millrace
