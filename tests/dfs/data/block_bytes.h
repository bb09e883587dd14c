// SPDX-License-Identifier: Apache-2.0
// Bytes for tests of block storage and transfer.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/random.h"
#include "dfs/data/block_store.h"

namespace millrace::dfs {

inline std::string RandomBytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string bytes(size + 8, '\0');
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = random.Next();
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  bytes.resize(size);
  return bytes;
}

// Returns the StoredBlock that a store lists for a block with these bytes.
inline StoredBlock StoredAs(std::uint64_t id, std::string_view data) {
  return {id, data.size(), BlockCrc(ChunkCrcs(data))};
}

}  // namespace millrace::dfs
