// SPDX-License-Identifier: Apache-2.0
// StorageWatch notices that a worker's directory or its disk is gone: deleted, unmounted, read-only, failing. Nothing
// else would show this, since open files still work. Thread rule: the control thread; it looks on `background`, which
// should have no other work, since a dying disk may take long to answer.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/rpc/background.h"
#include "base/status.h"
#include "dfs/data/sync_meter.h"

namespace millrace::worker {

class StorageProbe {
 public:
  virtual ~StorageProbe() = default;
  // Returns OK, or the reason why the storage is gone. May be called from any thread, one at a time; it blocks on the
  // disk.
  [[nodiscard]] virtual Status Check() = 0;
};

// These return the names to watch in the worker's own directory, in the one of its tasks' files, and in a directory of
// blocks. One directory may be all of these.
[[nodiscard]] std::vector<std::string> WorkerParts();
[[nodiscard]] std::vector<std::string> TaskParts();
[[nodiscard]] std::vector<std::string> BlockParts();

// DiskStorageProbe remembers the identity of `directory` and of the files and directories `parts` in it. Check verifies
// that they are still the same, then writes and syncs `<directory>/probe`, and reads it back from the disk. A full disk
// does not count as gone.
class DiskStorageProbe final : public StorageProbe {
 public:
  // `meter`, if given, records the times that syncs take. Requires: `meter` outlives this.
  static Result<std::unique_ptr<DiskStorageProbe>> Make(const std::string& directory,
                                                        const std::vector<std::string>& parts,
                                                        dfs::SyncMeter* meter = nullptr);
  [[nodiscard]] Status Check() override;

 private:
  struct KnownPath {
    std::string path;
    std::uint64_t device = 0, inode = 0;
  };
  DiskStorageProbe(std::string directory, std::vector<KnownPath> known, Fd probe, dfs::SyncMeter* meter)
      : directory_(std::move(directory)), known_(std::move(known)), probe_(std::move(probe)), meter_(meter) {}

  std::string directory_;
  std::vector<KnownPath> known_;
  Fd probe_;
  dfs::SyncMeter* meter_;
  std::uint64_t looks_ = 0;
};

class StorageWatch {
 public:
  // Calls `gone` once, with the reason. Requires: all references outlive this.
  StorageWatch(kj::Timer& timer, rpc::Background& background, StorageProbe& probe, Micros period,
               std::function<void(const Status&)> gone);
  void Start();  // once

 private:
  kj::Promise<void> Cycle();

  kj::Timer& timer_;
  rpc::Background& background_;
  StorageProbe& probe_;
  Micros period_;
  std::function<void(const Status&)> gone_;
  kj::Promise<void> cycle_ = nullptr;
};

}  // namespace millrace::worker
