// SPDX-License-Identifier: Apache-2.0
// Reads a whole database as a master does when it starts, to prove that a master could start with it. Changes nothing.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "dfs/name/namespace.h"

namespace millrace::master {

struct DatabaseContents {
  std::string cluster;
  dfs::Namespace::Usage usage;
  std::uint64_t jobs = 0, live_jobs = 0, attempts = 0, nodes = 0;
};

// Decodes all that a master reads at its start, and the journals of the jobs that have ended. Returns kCorrupt, or
// kNotFound if it is no cluster's database, for the first thing that a master could not read.
[[nodiscard]] Result<DatabaseContents> ReadAllOf(const KeyValueStore& store);

}  // namespace millrace::master
