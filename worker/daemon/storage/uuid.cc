#include "worker/daemon/storage/uuid.h"

#include <fmt/format.h>

namespace millrace::worker {

std::string MakeUuid(Random& random) {
  const std::uint64_t high = (random.Next() & ~std::uint64_t{0xf000}) | 0x4000;  // version 4
  const std::uint64_t low =
      (random.Next() & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

}  // namespace millrace::worker
