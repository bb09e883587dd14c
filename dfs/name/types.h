// SPDX-License-Identifier: Apache-2.0
// The types of the file system's metadata: blocks, and the locations of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "dfs/wire/file_status.h"

namespace millrace::dfs {

using BlockId = std::uint64_t;  // drawn at random; 0 means none

struct Location {
  std::string rack;
  std::string datacenter;
  auto operator<=>(const Location&) const = default;
};

// A finished block: every replica must have its length and BlockCrc (dfs/wire/chunks.h). Blocks of one file may be
// shorter than its block size: a write that loses its pipeline closes the block at the last acknowledged byte and
// continues in a new one.
struct Block {
  BlockId id = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  auto operator<=>(const Block&) const = default;
};

}  // namespace millrace::dfs
