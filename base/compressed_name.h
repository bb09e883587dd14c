// What the name of a file says of its compression: the master does not cut a file that has such a name into splits.
// What the file's bytes say is told by client/format/compression.h.
// Thread rule: free functions, any thread.
#pragma once

#include <string_view>

namespace millrace {

enum class Compression { kNone, kGzip, kZstd, kBzip2 };

// Returns "gzip", "zstd", "bzip2", or nothing for kNone.
[[nodiscard]] constexpr std::string_view ToString(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return {};
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
    case Compression::kBzip2:
      return "bzip2";
  }
  return {};
}

// Returns how the names of such files end: ".gz", ".zst", ".bz2", or nothing for kNone.
[[nodiscard]] constexpr std::string_view NameEnding(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return {};
    case Compression::kGzip:
      return ".gz";
    case Compression::kZstd:
      return ".zst";
    case Compression::kBzip2:
      return ".bz2";
  }
  return {};
}

// Returns what the end of the path says.
[[nodiscard]] constexpr Compression CompressionOfName(std::string_view path) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd, Compression::kBzip2}) {
    if (path.ends_with(NameEnding(compression))) return compression;
  }
  return Compression::kNone;
}

}  // namespace millrace
