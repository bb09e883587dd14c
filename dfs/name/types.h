// The types of the file system's metadata: blocks, files, nodes and their locations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "dfs/wire/file_shape.h"
#include "dfs/wire/mode.h"

namespace millrace::dfs {

using BlockId = std::uint64_t;  // drawn at random; 0 means none
using FileId = std::uint64_t;   // never used twice

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

struct FileStatus {
  std::string path;
  bool directory = false;
  std::uint64_t length = 0;
  std::uint32_t replication = 0;
  std::uint64_t block_size = 0;
  Micros modified = 0;
  std::string owner;
  std::string group = {};  // empty: none
  Mode mode = 0;
  FileId id = 0;  // the id of a file; 0 for a directory
};

}  // namespace millrace::dfs
