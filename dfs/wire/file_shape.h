// Limits on the block size and replication of a file: one rule for the master's namespace, for the jobs that it accepts
// and for commands, so that no work is done for a file that cannot be made. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace millrace::dfs {

inline constexpr std::uint64_t kMinBlockSize = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxBlockSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kDefaultBlockSize = std::uint64_t{64} << 20;
inline constexpr std::uint32_t kDefaultReplication = 3;
inline constexpr std::uint32_t kMaxReplication = 64;

// Returns kInvalid, with the allowed range, unless files may have blocks of this many bytes.
[[nodiscard]] Status CheckBlockSize(std::uint64_t bytes);
// Does the same for the number of replicas of a block.
[[nodiscard]] Status CheckReplicas(std::uint64_t replicas);

}  // namespace millrace::dfs
