// What a replica on this node is found to be when it is read. Thread rule: any thread; blocks on the disk.
#pragma once

#include <cstdint>

#include "base/protocol/dfs_types.capnp.h"
#include "base/status.h"
#include "dfs/data/block_store.h"

namespace millrace::worker {

struct CheckedBlock {
  dfs::StoredBlock block;  // length: of a sound one
  dfs::wire::ReplicaState state = dfs::wire::ReplicaState::SOUND;
  Status why;  // of one that is not sound
};

// Read from the disk in such pieces.
inline constexpr std::uint64_t kCheckPiece = std::uint64_t{1} << 20;

// What a check of a part of a block that ended with `status` says of it.
[[nodiscard]] CheckedBlock Judge(const dfs::StoredBlock& block, const Status& status);
// The whole block against its checksums. A damaged one that is sound by now is listed again.
[[nodiscard]] CheckedBlock CheckBlock(dfs::BlockStore& blocks, std::uint64_t id);

}  // namespace millrace::worker
