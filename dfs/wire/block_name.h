// The name of a block in messages, listings and JSON: the 16 hexadecimal digits that are also the name of its file on a
// node. (A JSON number would lose bits in most readers.) Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::dfs {

[[nodiscard]] std::string BlockText(std::uint64_t id);                             // "00c0ffee00c0ffee"
[[nodiscard]] std::string BlockName(std::uint64_t id);                             // "block 00c0ffee00c0ffee"
[[nodiscard]] std::optional<std::uint64_t> ParseBlockText(std::string_view text);  // the inverse of BlockText

// The length with which a node lists a block that it found damaged. No block has this length, so the
// master marks the replica as bad whatever the block's own length is.
inline constexpr std::uint64_t kDamagedLength = ~std::uint64_t{0};

}  // namespace millrace::dfs
