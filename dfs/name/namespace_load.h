// SPDX-License-Identifier: Apache-2.0
// These functions load a stored namespace. The tree is built from entries in the order of the numbers of their
// directories, so a directory may come after its entries. Everything is checked during the load: the functions return
// kCorrupt, naming the key, if a key does not decode or does not fit the others. Thread rule: one thread.
#pragma once

#include <cstdint>

#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "dfs/name/namespace_open.h"
#include "dfs/name/namespace_tree.h"

namespace millrace::dfs {

// Returns a number above all ids that were issued; 1 for an empty store.
[[nodiscard]] Result<std::uint64_t> LoadIdLimit(const KeyValueStore& store);

// Reads the directories and files, the changed owner, group and mode of the root, and the quotas. After a failure, the
// tree may only be destroyed. Requires: the tree is empty.
[[nodiscard]] Status LoadTree(const KeyValueStore& store, std::uint64_t id_limit, Tree* tree);

// Reads the open files. After a failure, the table may only be destroyed. Requires: the tree was loaded, and the table
// is empty.
[[nodiscard]] Status LoadOpenFiles(const KeyValueStore& store, std::uint64_t id_limit, const Tree& tree,
                                   OpenTable* open);

}  // namespace millrace::dfs
