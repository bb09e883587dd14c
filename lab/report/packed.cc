#include "lab/report/packed.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace millrace::report {
namespace {

constexpr int kGzip = 16;  // added to the bits of the window, it asks for the header and checksum of gzip

std::string Gzip(std::string_view text) {
  z_stream stream = {};
  MILLRACE_CHECK(
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
      "zlib");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int deflated = deflate(&stream, Z_FINISH);
  MILLRACE_CHECK(deflated == Z_STREAM_END, std::to_string(deflated));
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Base64(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) out += i <= count ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string Packed(std::string_view text) { return Base64(Gzip(text)); }

}  // namespace millrace::report
