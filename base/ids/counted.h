// SPDX-License-Identifier: Apache-2.0
// Counts with their nouns, for people. The header includes the standard library alone, so that the engine may use it.
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// Returns the count with what follows it: "1 block", "2 blocks". If more than an s is added, `many` says it: "1 node
// is", "2 nodes are"; "1 directory", "0 directories".
[[nodiscard]] std::string Counted(std::uint64_t count, std::string_view one, std::string_view many = {});

}  // namespace millrace
