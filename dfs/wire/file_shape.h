// What a file may be made with: one rule for the master's names, for the jobs that it takes and for commands, so that
// nobody does work for a file that cannot be. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace millrace::dfs {

inline constexpr std::uint64_t kMinBlockSize = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxBlockSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kDefaultBlockSize = std::uint64_t{64} << 20;
inline constexpr std::uint32_t kDefaultReplication = 3;
inline constexpr std::uint32_t kMaxReplication = 64;

// Returns kInvalid, with what is allowed, unless files may have blocks of so many bytes.
[[nodiscard]] Status CheckBlockSize(std::uint64_t bytes);
// The same for the number of replicas of a block.
[[nodiscard]] Status CheckReplicas(std::uint64_t replicas);

}  // namespace millrace::dfs
