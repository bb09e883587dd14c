// SPDX-License-Identifier: Apache-2.0
#include "base/gzip.h"

#include <zlib.h>

#include "base/check.h"

namespace millrace {

std::string Gzip(std::string_view bytes) {
  constexpr int kGzip = 16;  // added to the bits of the window, it asks for the header and checksum of gzip
  z_stream stream{};
  const int begun = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  MILLRACE_CHECK(begun == Z_OK, "zlib");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int deflated = deflate(&stream, Z_FINISH);
  MILLRACE_CHECK(deflated == Z_STREAM_END, std::to_string(deflated));
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace millrace
