// Makes a stored namespace fit together again of which some changes were lost in the middle. Thread rule: a free
// function, any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::dfs {

inline constexpr std::string_view kFoundDirectory = "/lost+found";

// Adds to *batch what makes Namespace::Load take the store: an entry whose directory is not there gets one in
// kFoundDirectory; of two entries with the same directory or block that for which `is_newer` says true stays, since it
// is where the other one was moved, else the one that comes first; an open file that does not fit is given up; ids
// count as given out up to the highest one. Returns what was done, one line each, with paths. Returns kCorrupt for an
// entry that does not decode.
[[nodiscard]] Result<std::vector<std::string>> MendNamespace(const KeyValueStore& store,
                                                             const std::function<bool(std::string_view key)>& is_newer,
                                                             WriteBatch* batch);

// Returns what a key of the store is about, for people: a path, or the open file's path; "" if it is none of the
// namespace's. Directories that the store does not have are "?".
[[nodiscard]] Result<std::string> DescribeStoredKey(const KeyValueStore& store, std::string_view key);

}  // namespace millrace::dfs
