// SPDX-License-Identifier: Apache-2.0
// Makes compressed files for tests, with the compressors of the libraries whose decompressors are tested. Tests of
// files that other programs have compressed are in decompressor_test.cc and in tests/cluster.
#pragma once

#include <bzlib.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "client/format/compression.h"

namespace millrace {

inline std::string CompressGzip(std::string_view bytes) {
  std::string out(bytes.size() + bytes.size() / 8 + 256, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  std::string level_buffer(ISAL_DEF_LVL1_DEFAULT, '\0');
  stream.level = 1;
  stream.level_buf = reinterpret_cast<std::uint8_t*>(level_buffer.data());
  stream.level_buf_size = static_cast<std::uint32_t>(level_buffer.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  MILLRACE_CHECK(isal_deflate_stateless(&stream) == COMP_OK, "isal_deflate_stateless");
  out.resize(stream.total_out);
  return out;
}

// Compresses with a checksum, as the program zstd does.
inline std::string CompressZstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size());
  ZSTD_freeCCtx(context);
  MILLRACE_CHECK(ZSTD_isError(size) == 0, ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

// Compresses in blocks of 100 kB, so that a test has more than one block.
inline std::string CompressBzip2(std::string_view bytes) {
  std::string out(bytes.size() + bytes.size() / 64 + 1024, '\0');
  auto size = static_cast<unsigned>(out.size());
  const int code = BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(bytes.data()),
                                            static_cast<unsigned>(bytes.size()), 1, 0, 0);
  MILLRACE_CHECK(code == BZ_OK, "BZ2_bzBuffToBuffCompress");
  out.resize(size);
  return out;
}

inline std::string Compress(Compression compression, std::string_view bytes) {
  switch (compression) {
    case Compression::kNone:
      return std::string(bytes);
    case Compression::kGzip:
      return CompressGzip(bytes);
    case Compression::kZstd:
      return CompressZstd(bytes);
    case Compression::kBzip2:
      return CompressBzip2(bytes);
  }
  return {};
}

}  // namespace millrace
