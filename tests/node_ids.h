// SPDX-License-Identifier: Apache-2.0
// Node ids as tests write them: 7_n is the node with number 7.
#pragma once

#include <cstdint>

#include "base/ids/ids.h"

namespace millrace {

[[nodiscard]] consteval NodeId operator""_n(unsigned long long number) {
  return NodeId{static_cast<std::uint32_t>(number)};
}

}  // namespace millrace
