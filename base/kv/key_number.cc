#include <bit>
#include <cstring>

#include "base/kv/key_value_store.h"

namespace millrace {

static_assert(std::endian::native == std::endian::little);

std::string KeyNumber(std::uint64_t n) {
  const std::uint64_t big_endian = __builtin_bswap64(n);
  std::string key(sizeof big_endian, '\0');
  std::memcpy(key.data(), &big_endian, sizeof big_endian);
  return key;
}

std::optional<std::uint64_t> ParseKeyNumber(std::string_view eight_bytes) {
  std::uint64_t big_endian = 0;
  if (eight_bytes.size() != sizeof big_endian) return std::nullopt;
  std::memcpy(&big_endian, eight_bytes.data(), sizeof big_endian);
  return __builtin_bswap64(big_endian);
}

}  // namespace millrace
