// The numbers of the run file's format (run_file.h), for its writer and its reader.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::run {

inline constexpr std::uint64_t kRunMagic = 0x314e55524c4c494d;  // "MILLRUN1"
inline constexpr std::size_t kIndexEntryBytes = 40;
inline constexpr std::size_t kFooterBytes = 24;
inline constexpr std::size_t kFooterSummedBytes = 12;  // of the footer's bytes, those that the crc covers
inline constexpr std::uint32_t kFlagCompressed = 1;
inline constexpr std::uint32_t kFlagAnyOrder = 2;
inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr int kZstdLevel = 1;

}  // namespace millrace::run
