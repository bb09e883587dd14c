// SPDX-License-Identifier: Apache-2.0
// StorageLock is the exclusive right to a worker's directory, and the directory's identity. The same directory is the
// same node to the master, whatever its host is called today, and belongs to the cluster that it joined first. Thread
// rule: one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/cluster_id.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status.h"

namespace millrace::worker {

// Makes version-4 UUIDs (RFC 4122), for a worker's storage and for its block directories. Any thread.
[[nodiscard]] std::string MakeUuid(Random& random);
[[nodiscard]] bool IsUuid(std::string_view text);

// While a StorageLock lives, no other process can lock the directory (flock on `<directory>/lock`; the kernel releases
// it when the process ends).
class StorageLock {
 public:
  // Makes the directory if need be, and `<directory>/storage_id` with a version-4 UUID drawn from `random` if there is
  // none. Returns kBusy if another worker has locked the directory, kCorrupt if storage_id or cluster_id is not a valid
  // id.
  static Result<StorageLock> Acquire(const std::string& directory, Random& random);
  [[nodiscard]] const std::string& id() const { return id_; }
  // Returns the id in `<directory>/cluster_id` (base/cluster_id.h); empty if the worker has not joined a cluster yet.
  [[nodiscard]] const std::string& cluster() const { return cluster_; }
  // Returns the moment in `<directory>/told` (base/cluster_id.h); none if the file is missing or makes no sense.
  [[nodiscard]] const Moment& told() const { return told_; }

 private:
  StorageLock(Fd lock, std::string id, std::string cluster, const Moment& told)
      : lock_(std::move(lock)), id_(std::move(id)), cluster_(std::move(cluster)), told_(told) {}
  Fd lock_;
  std::string id_, cluster_;
  Moment told_;
};

// Locks the existing directory of a worker's task files (worker.task_directory), as StorageLock locks the worker's own,
// and makes none: an empty mount point is not the disk. The lock lasts as long as the descriptor. Returns kNotFound if
// there is no such directory, and kBusy if it is locked already.
[[nodiscard]] Result<Fd> LockTaskDirectory(const std::string& directory);

// Stores the last moment that this worker has learnt from a master. The moment is on disk when this returns. Any
// thread.
Status StoreTold(const std::string& directory, const Moment& told);

// Makes the worker's directory belong to this cluster from now on. The cluster's id is on disk when this returns.
Status StoreClusterOf(const std::string& directory, const std::string& cluster);
// Returns the stored id of the cluster; empty if none was stored. Any thread.
[[nodiscard]] Result<std::string> ReadClusterOf(const std::string& directory);

}  // namespace millrace::worker
