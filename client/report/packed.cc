#include "client/report/packed.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace millrace::report {
namespace {

constexpr std::size_t kPiece = 256 << 10;

std::string Gzip(std::string_view text) {
  std::vector<std::uint8_t> room(ISAL_DEF_LVL3_DEFAULT);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = 3;  // the smallest that the library makes
  stream.level_buf = room.data();
  stream.level_buf_size = static_cast<std::uint32_t>(room.size());
  stream.gzip_flag = IGZIP_GZIP;
  std::string out;
  std::vector<char> piece(kPiece);
  do {
    if (stream.avail_in == 0) {
      const std::string_view next = text.substr(0, kPiece);
      text.remove_prefix(next.size());
      stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(next.data()));
      stream.avail_in = static_cast<std::uint32_t>(next.size());
      stream.end_of_stream = text.empty() ? 1 : 0;
    }
    stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream.avail_out = static_cast<std::uint32_t>(piece.size());
    const int deflated = isal_deflate(&stream);
    MILLRACE_CHECK(deflated == COMP_OK, std::to_string(deflated));
    out.append(piece.data(), piece.size() - stream.avail_out);
  } while (stream.internal_state.state != ZSTATE_END);
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
