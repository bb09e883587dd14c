// SPDX-License-Identifier: Apache-2.0
// Block numbers for tests. They look random but are the same every time.
#pragma once

#include "base/random.h"
#include "dfs/name/namespace.h"

namespace millrace::dfs {

inline BlockNumbers SeededNumbers(std::uint64_t seed) {
  return [random = Random(seed)]() mutable { return random.Next(); };
}

}  // namespace millrace::dfs
