// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <random>

namespace millrace {

std::uint64_t SeedFromSystem() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace millrace
