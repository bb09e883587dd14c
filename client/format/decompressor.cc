// SPDX-License-Identifier: Apache-2.0
#include "client/format/decompressor.h"

#include "base/check.h"

namespace millrace {

std::unique_ptr<Decompressor> MakeDecompressor(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      break;
    case Compression::kGzip:
      return internal::MakeGzipDecompressor();
    case Compression::kZstd:
      return internal::MakeZstdDecompressor();
    case Compression::kBzip2:
      return internal::MakeBzip2Decompressor();
  }
  MILLRACE_CHECK(false, "a decompressor of what is not compressed");
  return nullptr;
}

Status internal::NoFurtherMember() { return Corrupt("the compressed data is followed by data that is not compressed"); }

}  // namespace millrace
