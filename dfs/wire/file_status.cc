// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/file_status.h"

#include <string>

namespace millrace::dfs {

Status CheckBlockSize(std::uint64_t bytes) {
  if (bytes >= kMinBlockSize && bytes <= kMaxBlockSize) return Status::Ok();
  return Invalid("block size " + std::to_string(bytes) + " is not between " + std::to_string(kMinBlockSize) + " and " +
                 std::to_string(kMaxBlockSize));
}

Status CheckReplicas(std::uint64_t replicas) {
  if (replicas >= 1 && replicas <= kMaxReplication) return Status::Ok();
  return Invalid("replication " + std::to_string(replicas) + " is not between 1 and " +
                 std::to_string(kMaxReplication));
}

}  // namespace millrace::dfs
