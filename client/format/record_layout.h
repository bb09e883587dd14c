// SPDX-License-Identifier: Apache-2.0
// The layout constants that the writer and reader of record files share (format in record_file.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "client/format/record_file.h"

namespace millrace::record {

inline constexpr std::string_view kMagic = "MILLRREC";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kMarkerBytes = 16;
inline constexpr std::size_t kHeaderBytes = 8 + 4 + kMarkerBytes + 4;
inline constexpr std::size_t kBlockHeaderBytes = kMarkerBytes + 8 + 4 + 4 + 4 + 4;
inline constexpr std::size_t kTrailerRawBytes = 16;
inline constexpr std::size_t kTrailerBytes = kBlockHeaderBytes + kTrailerRawBytes;
inline constexpr std::size_t kLargestRaw = kLargestRecord + 20;  // with its two length varints

inline constexpr std::uint32_t kCompressed = 1;
inline constexpr std::uint32_t kTrailer = 2;

// `fields` are the bytes between the marker and the checksum.
inline std::uint32_t BlockChecksum(std::uint64_t offset, std::string_view fields, std::string_view stored) {
  Encoder place;
  place.U64(offset);
  return Crc32c(stored, Crc32c(fields, Crc32c(place.bytes())));
}

}  // namespace millrace::record
