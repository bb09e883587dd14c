// SPDX-License-Identifier: Apache-2.0
// Lease: the right to write one open file, held on the control thread for a writer on another thread. If the connection
// or the master is lost, the lease is resumed by the file's id as soon as there is a connection, even if the writer is
// idle, since the master waits for that no longer than its grace period. The lease is renewed while the process runs,
// even if the writer is idle. If the process was stopped for too long, the next call reports that the file is lost.
//
// A master answers `create` before the file is on its disk, so one that dies right then does not know the file when it
// is started again. As long as no block was given out, nothing is lost with it: the file is created again. If it cannot
// be, since somebody else has the path by now, the failure is that of before.
// Thread rule: one thread at a time, not the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/protocol/name.capnp.h"
#include "dfs/client/dfs_client.h"
#include "dfs/client/master_connection.h"

namespace millrace::dfs {

class Lease {
 public:
  // Creates the file. Returns the lease on it.
  static Result<std::unique_ptr<Lease>> Create(std::shared_ptr<MasterConnection> connection,
                                               const ClientOptions& options, const std::string& path,
                                               const WriteOptions& write);
  // Drops the lease. The file is given up unless it was completed or handed over.
  ~Lease();

  struct NewBlock {
    std::uint64_t id = 0;
    std::vector<ReplicaHost> targets;
    std::string token;  // the right to write it to the targets; empty from a master that issues none
  };
  Result<NewBlock> AddBlock(const std::vector<NodeId>& excluded);
  Status DropBlock(std::uint64_t id);
  // Syncs the file. `written` holds all blocks of the file so far; those before number `first` are synced already.
  Status Sync(std::size_t first, const std::vector<WrittenBlock>& written);
  Status Complete(const std::vector<WrittenBlock>& blocks);
  Status HandOver(const std::string& attempt);
  void Abandon();  // does not wait for the master
  [[nodiscard]] std::uint64_t file() const { return file_; }
  [[nodiscard]] std::uint64_t block_size() const { return block_size_; }

 private:
  using WithLease = std::function<kj::Promise<void>(wire::FileLease::Client)>;
  struct Held {  // on the control thread only
    kj::Maybe<wire::FileLease::Client> lease;
    kj::Promise<void> renewing = nullptr;
    kj::Promise<void> keeping = nullptr;  // resumes the lease; last, since it uses the rest
    void End() {
      renewing = nullptr;
      keeping = nullptr;
    }
  };

  Lease(std::shared_ptr<MasterConnection> connection, const ClientOptions& options, std::string path,
        const WriteOptions& write)
      : connection_(std::move(connection)),
        options_(options),
        path_(std::move(path)),
        write_(write),
        held_(std::make_shared<Held>()) {}
  // Creates the file, or creates it again.
  Status Open();
  Status Call(const char* what, const WithLease& f);
  // These run on the control thread while `held` keeps their promise and the file is open.
  static kj::Promise<void> Keep(MasterConnection& connection, Held& held, std::uint64_t file);
  static kj::Promise<void> Renew(kj::Timer& timer, kj::Duration every, Held& held);
  static kj::Promise<void> Resume(capnp::Capability::Client bootstrap, Held& held, std::uint64_t file);

  std::shared_ptr<MasterConnection> connection_;
  const ClientOptions options_;
  const std::string path_;
  const WriteOptions write_;
  std::shared_ptr<Held> held_;
  bool has_blocks_ = false;  // one was given out
  std::uint64_t file_ = 0;
  std::uint64_t block_size_ = 0;
};

}  // namespace millrace::dfs
