// SPDX-License-Identifier: Apache-2.0
// The status of a file or directory, for the name service and its clients alike, and the limits on its shape. Thread
// rule: values, and free functions for any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids/time.h"
#include "base/status.h"
#include "dfs/wire/mode.h"

namespace millrace::dfs {

// Limits on the block size and replication of a file: one rule for the master's namespace, for the jobs that it accepts
// and for commands, so that no work is done for a file that cannot be made.
inline constexpr std::uint64_t kMinBlockSize = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxBlockSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kDefaultBlockSize = std::uint64_t{64} << 20;
inline constexpr std::uint32_t kDefaultReplication = 3;
inline constexpr std::uint32_t kMaxReplication = 64;

// Returns kInvalid, with the allowed range, unless files may have blocks of this many bytes.
[[nodiscard]] Status CheckBlockSize(std::uint64_t bytes);
// Does the same for the number of replicas of a block.
[[nodiscard]] Status CheckReplicas(std::uint64_t replicas);

using FileId = std::uint64_t;  // never used twice

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
  bool operator==(const FileStatus&) const = default;
};

}  // namespace millrace::dfs
