// How a namespace is read back. The tree is put together from entries that come by the number of their directory, so a
// directory may be met after what is in it. Everything is checked on the way: kCorrupt names the key that does not
// decode or does not fit the others. Thread rule: one thread.
#pragma once

#include <cstdint>

#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "dfs/name/namespace_open.h"
#include "dfs/name/namespace_tree.h"

namespace millrace::dfs {

// Returns the number below which all ids lie that were given out; 1 for an empty store.
[[nodiscard]] Result<std::uint64_t> LoadIdLimit(const KeyValueStore& store);

// Requires: the tree is empty. After a failure it may only be destroyed.
[[nodiscard]] Status LoadTree(const KeyValueStore& store, std::uint64_t id_limit, Tree* tree);

// Requires: the tree was loaded, and the table is empty. After a failure it may only be destroyed.
[[nodiscard]] Status LoadOpenFiles(const KeyValueStore& store, std::uint64_t id_limit, const Tree& tree,
                                   OpenTable* open);

}  // namespace millrace::dfs
