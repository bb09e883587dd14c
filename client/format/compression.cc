// SPDX-License-Identifier: Apache-2.0
#include "client/format/compression.h"

namespace millrace {
namespace {

// The method is deflate, the only one there is, and no flag is set that has no meaning.
bool IsGzip(std::string_view bytes) {
  constexpr unsigned kReservedFlags = 0xe0;
  return bytes.size() >= 4 && bytes.starts_with("\x1f\x8b\x08") &&
         (static_cast<unsigned char>(bytes[3]) & kReservedFlags) == 0;
}

// A frame, or a frame that is to be skipped (with which pzstd begins its files).
bool IsZstd(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return true;
  return (static_cast<unsigned char>(bytes[0]) & 0xf0) == 0x50 && bytes.substr(1).starts_with("\x2a\x4d\x18");
}

// "BZh" and a digit are letters of a text, too, so what follows them counts: a block, or the end of an empty file.
bool IsBzip2(std::string_view bytes) {
  if (bytes.size() < 10 || !bytes.starts_with("BZh") || bytes[3] < '1' || bytes[3] > '9') return false;
  const std::string_view next = bytes.substr(4, 6);
  return next == "\x31\x41\x59\x26\x53\x59" || next == "\x17\x72\x45\x38\x50\x90";
}

}  // namespace

Compression CompressionOf(std::string_view first_bytes) {
  if (IsGzip(first_bytes)) return Compression::kGzip;
  if (IsZstd(first_bytes)) return Compression::kZstd;
  if (IsBzip2(first_bytes)) return Compression::kBzip2;
  return Compression::kNone;
}

}  // namespace millrace
