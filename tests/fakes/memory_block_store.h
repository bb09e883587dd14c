// SPDX-License-Identifier: Apache-2.0
// A BlockStore in memory, for tests and simulated clusters. It passes the contract suite of the real one
// (tests/dfs/data/block_store_test.cc). Thread rule: as BlockStore.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "dfs/data/block_store.h"

namespace millrace::dfs {

// Returns a store in memory with a capacity of `capacity` bytes. Its Open() returns a memory file (memfd). `refuses` is
// called before each step of writing a block, and returns OK or the failure of the step. If a sync fails, the bytes
// that were not synced read as zeros from then on, as can happen with a kernel.
[[nodiscard]] std::unique_ptr<BlockStore> MakeMemoryBlockStore(
    std::uint64_t capacity, std::function<Status(WriteStep)> refuses = [](WriteStep) { return Status::Ok(); });

}  // namespace millrace::dfs
