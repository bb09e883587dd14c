#include "worker/daemon/storage/block_check.h"

#include <algorithm>

namespace millrace::worker {

using dfs::wire::ReplicaState;

CheckedBlock Judge(const dfs::StoredBlock& block, const Status& status) {
  if (status.ok()) return {block, ReplicaState::SOUND, status};
  const bool absent = status.code() == StatusCode::kNotFound;
  return {block, absent ? ReplicaState::ABSENT : ReplicaState::CORRUPT, status};
}

CheckedBlock CheckBlock(dfs::BlockStore& blocks, std::uint64_t id) {
  dfs::StoredBlock block{id, 0};
  const auto check = [&]() -> Status {
    MILLRACE_TRY(blocks.Verify(id, 0, 0));  // this finds a block whose data are gone, which is then not listed any more
    MILLRACE_ASSIGN(const dfs::OpenBlock open, blocks.Open(id));
    block.length = open.length;
    block.crc = open.content().crc;
    for (std::uint64_t at = 0; at < open.length; at += kCheckPiece) {
      MILLRACE_TRY(blocks.Verify(id, at, std::min(kCheckPiece, open.length - at)));
    }
    return blocks.Relist(id);
  };
  const Status status = check();
  return Judge(block, status);
}

}  // namespace millrace::worker
