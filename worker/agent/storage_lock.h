// StorageLock: the right to a worker's directory, and the directory's identity. The same directory is the same node to
// the master, whatever its host is called today. Thread rule: one thread.
#pragma once

#include <string>
#include <utility>

#include "base/file.h"
#include "base/random.h"
#include "base/status.h"

namespace millrace::worker {

// Held: no other process has the directory (flock on `<directory>/lock`; the kernel gives it up when the process ends).
class StorageLock {
 public:
  // Makes the directory if need be, and `<directory>/storage_id` with a version-4 UUID drawn from `random` if there is
  // none. kBusy when another worker holds it; kCorrupt when storage_id holds something else.
  static Result<StorageLock> Take(const std::string& directory, Random& random);
  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  StorageLock(Fd lock, std::string id) : lock_(std::move(lock)), id_(std::move(id)) {}
  Fd lock_;
  std::string id_;
};

}  // namespace millrace::worker
