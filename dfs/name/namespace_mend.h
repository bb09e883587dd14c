// SPDX-License-Identifier: Apache-2.0
// MendNamespace repairs a stored namespace that has lost changes in the middle, so that it is consistent. Thread rule:
// free functions, any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::dfs {

inline constexpr std::string_view kFoundDirectory = "/lost+found";

// Adds changes to *batch with which Namespace::Load accepts the store:
// - An entry whose directory is missing gets a directory in kFoundDirectory.
// - Of two entries for the same directory or block, the one for which `is_newer` returns true stays, since the other is
//   left over from before a move; if neither is newer, the first one stays.
// - An open file that does not fit is given up.
// - All ids up to the highest one count as issued.
// Returns a line for each change, with paths. Returns kCorrupt for an entry that does not decode.
[[nodiscard]] Result<std::vector<std::string>> MendNamespace(const KeyValueStore& store,
                                                             const std::function<bool(std::string_view key)>& is_newer,
                                                             WriteBatch* batch);

// Describes a key of the store for people: returns a path, or the path of an open file; "" for a key that is not of the
// namespace. Directories missing in the store are shown as "?".
[[nodiscard]] Result<std::string> DescribeStoredKey(const KeyValueStore& store, std::string_view key);

}  // namespace millrace::dfs
