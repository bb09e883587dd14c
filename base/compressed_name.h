// SPDX-License-Identifier: Apache-2.0
// The compression that a file's name announces. The master does not split a file with such a name.
// client/format/compression.h recognises compression by a file's bytes.
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

// Returns the ending of such names: ".gz", ".zst", ".bz2", or nothing for kNone.
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

// Returns the compression that the path's ending announces.
[[nodiscard]] constexpr Compression CompressionOfName(std::string_view path) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd, Compression::kBzip2}) {
    if (path.ends_with(NameEnding(compression))) return compression;
  }
  return Compression::kNone;
}

}  // namespace millrace
