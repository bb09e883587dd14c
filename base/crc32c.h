// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, RFC 3720 appendix B.4), by ISA-L: 26 GB/s on page-cached data, so every hop can afford it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {

// Returns the checksum of `data`. If `previous` is the checksum of earlier bytes, returns the checksum of those bytes
// followed by `data`.
[[nodiscard]] std::uint32_t Crc32c(std::string_view data, std::uint32_t previous = 0);

}  // namespace millrace
