// kDamagedLength: the length with which a node lists a block that it found damaged. No block has this length, so the
// master marks the replica as bad whatever the block's own length is.
#pragma once

#include <cstdint>

namespace millrace::dfs {

inline constexpr std::uint64_t kDamagedLength = ~std::uint64_t{0};

}  // namespace millrace::dfs
