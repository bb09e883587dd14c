// SPDX-License-Identifier: Apache-2.0
// The records of terasort: 100 bytes, of which the first 10 are the key.
// Thread rule: constants.
#pragma once

#include <cstddef>

namespace millrace::examples {

inline constexpr std::size_t kTeraKeyBytes = 10;
inline constexpr std::size_t kTeraRecordBytes = 100;

}  // namespace millrace::examples
