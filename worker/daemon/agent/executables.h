// SPDX-License-Identifier: Apache-2.0
// Executables fetches the executables of jobs from the file system once, checks them, and keeps them for later jobs.
// Thread rule: the control thread; fetches run in a Background.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/machine_size.h"
#include "base/rpc/background.h"
#include "base/status.h"
#include "worker/sandbox/task_directories.h"

namespace millrace::worker {

struct ExecutableId {
  std::string path;  // in the file system
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // crc32c
  auto operator<=>(const ExecutableId&) const = default;
};

// The agent's view of the executables.
class Executables {
 public:
  using Then = std::function<void(Result<std::string> local_path)>;
  virtual ~Executables() = default;
  // Calls `then` with the path of a file that can be executed, but never from inside this call. The path stays valid
  // until Release has been called as often as Get. After a failure, Release must not be called.
  virtual void Get(const ExecutableId& id, Then then) = 0;
  virtual void Release(const ExecutableId& id) = 0;
};

// Passes the bytes of a file in the file system to `sink`, in order, until all have come or `sink` returns false. It
// blocks, on the thread of Background.
using FetchFile = std::function<Status(const std::string& path, const std::function<bool(std::string_view)>& sink)>;

// The space that a fetch of executables leaves free on the disk.
struct ExecutableRoom {
  std::uint64_t reserved_bytes = 0;
  RoomProbe free = FreeBytes;
};

// The most bytes of a job's executable. If the cache is larger, the size of the cache is the limit instead.
inline constexpr std::uint64_t kMostExecutableBytes = std::uint64_t{1} << 30;

// Keeps executables in `<directory>/executables/<sha256 of the path>-<crc>-<bytes>-<base name>`. It writes each
// executable under another name, checks the size, the crc32c and dfs::CheckExecutable, and then renames the file. A
// file that one user has stored is never executed for a job that names another file. A fetch that fails leaves nothing.
// While all executables together take more than `limit` bytes, it deletes those that no job uses, the longest unused
// first.
class ExecutableCache final : public Executables {
 public:
  static Result<std::unique_ptr<ExecutableCache>> Open(const std::string& directory, std::uint64_t limit,
                                                       FetchFile fetch, rpc::Background& background, Log log,
                                                       ExecutableRoom room = {});
  void Get(const ExecutableId& id, Then then) override;
  void Release(const ExecutableId& id) override;

 private:
  struct CachedExecutable {
    std::uint64_t bytes = 0;
    bool ready = false;  // its bytes were checked by this process
    unsigned users = 0;
    std::uint64_t last_used = 0;  // rising with each use
    std::vector<Then> waiting;
  };
  ExecutableCache(std::string directory, sandbox::TaskDirectories directories, std::uint64_t limit, FetchFile fetch,
                  rpc::Background& background, Log log, ExecutableRoom room);
  Status LoadEarlier();
  void Fetched(const std::string& path, const Status& status);
  void Evict();
  [[nodiscard]] std::string LocalPath(const ExecutableId& id) const;

  std::string directory_;
  sandbox::TaskDirectories directories_;
  std::uint64_t limit_;
  FetchFile fetch_;
  rpc::Background& background_;
  Log log_;
  ExecutableRoom room_;
  std::map<std::string, CachedExecutable> entries_;  // by local path
  std::uint64_t uses_ = 0;
  std::shared_ptr<ExecutableCache*> self_;  // callbacks that come after the cache's end find null
};

}  // namespace millrace::worker
