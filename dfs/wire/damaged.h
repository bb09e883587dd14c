// How a node lists a block that it found damaged: with a length that no block has, so that a master takes the replica
// for bad whatever the block's own length is.
#pragma once

#include <cstdint>

namespace millrace::dfs {

inline constexpr std::uint64_t kDamagedLength = ~std::uint64_t{0};

}  // namespace millrace::dfs
