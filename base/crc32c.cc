// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <isa-l.h>

#include <algorithm>

namespace millrace {

std::uint32_t Crc32c(std::string_view data, std::uint32_t previous) {
  // ISA-L takes an int as the length and works on the inverted register. It takes the buffer as non-const but does not
  // write to it.
  constexpr std::size_t kStep = std::size_t{1} << 30;
  std::uint32_t state = ~previous;
  while (!data.empty()) {
    const std::string_view part = data.substr(0, std::min(data.size(), kStep));
    auto* bytes = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    state = crc32_iscsi(bytes, static_cast<int>(part.size()), state);
    data.remove_prefix(part.size());
  }
  return ~state;
}

}  // namespace millrace
