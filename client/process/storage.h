// SPDX-License-Identifier: Apache-2.0
// Storage is the file system as a task uses it. It calls the master only when necessary: a map whose block lies on this
// machine and whose output goes to reduces never needs the master.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "dfs/client/block_reader.h"
#include "dfs/client/dfs_client.h"

namespace millrace {

// The functions through which storage is reached; tests have their own. Each does the same as its namesake in
// dfs/client.
struct StorageAccess {
  std::function<Result<std::unique_ptr<dfs::DfsClient>>(dfs::ClientOptions)> connect;
  std::function<Result<MappedFile>(const dfs::LocatedBlock&, const dfs::BadReplica&)> map_local;
  std::function<Status(const dfs::LocatedBlock&, std::uint64_t offset, std::uint64_t size, Micros stall,
                       const dfs::BadReplica&, const std::function<bool(std::string_view)>&, dfs::ReadSource*,
                       const std::shared_ptr<tls::Credentials>&)>
      read_block;
  std::function<Micros()> ticks;           // microseconds of a clock that never goes back; null: nothing is timed
  std::function<void(Micros)> pause = {};  // waits for the time; null: there are no waits
};
[[nodiscard]] StorageAccess RealStorage();

class Storage {
 public:
  Storage(const StorageAccess& access, dfs::ClientOptions options) : access_(access), options_(std::move(options)) {}

  // Returns the client. The first call connects it; if that fails, the next call tries again.
  [[nodiscard]] Result<dfs::DfsClient*> Client();
  [[nodiscard]] Result<MappedFile> MapLocal(const dfs::LocatedBlock& block);
  // Waits for the time, so that missing data may appear. Returns false, without a wait, if StorageAccess::pause is
  // null.
  [[nodiscard]] bool Pause(Micros time);
  // Sets *waited to the time that passed outside of `sink`, which is the cost of the transfer to the task.
  Status ReadBlock(const dfs::LocatedBlock& block, std::uint64_t offset, std::uint64_t size,
                   const std::function<bool(std::string_view)>& sink, dfs::ReadSource* source, Micros* waited);

 private:
  [[nodiscard]] dfs::BadReplica Reporter();

  const StorageAccess& access_;
  dfs::ClientOptions options_;
  std::unique_ptr<dfs::DfsClient> client_;
};

}  // namespace millrace
