// Reads a local replica and says whether it is sound. Thread rule: any thread; it blocks on the disk.
#pragma once

#include <cstdint>

#include "base/protocol/dfs_types.capnp.h"
#include "base/status.h"
#include "dfs/data/block_store.h"

namespace millrace::worker {

struct CheckedBlock {
  dfs::StoredBlock block;  // the length is set if the block is sound
  dfs::wire::ReplicaState state = dfs::wire::ReplicaState::SOUND;
  Status why;  // why the block is not sound
};

// The bytes that are read from the disk at a time.
inline constexpr std::uint64_t kCheckPiece = std::uint64_t{1} << 20;

// Returns the verdict on the block after a check of a part of it ended with `status`.
[[nodiscard]] CheckedBlock Judge(const dfs::StoredBlock& block, const Status& status);
// Checks the whole block against its checksums. A block that was listed as damaged and is now sound is listed as sound
// again.
[[nodiscard]] CheckedBlock CheckBlock(dfs::BlockStore& blocks, std::uint64_t id);

}  // namespace millrace::worker
