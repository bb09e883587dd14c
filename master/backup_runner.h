// BackupRunner makes backups of the master's database on a thread of its own, one at a time, while the master serves.
// Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <string>
#include <thread>

#include "base/kv/rocks_store.h"
#include "base/rpc/control_thread.h"

namespace millrace::master {

class BackupRunner {
 public:
  // Requires: the BackupRunner is made on the control thread, and `store` outlives it.
  explicit BackupRunner(RocksStore& store) : store_(store) {}
  ~BackupRunner();  // waits for the backup under way

  // Does what RocksStore::BackUp does. Rejects with kBusy while another backup is under way.
  [[nodiscard]] kj::Promise<BackupFacts> Run(const std::string& directory);

 private:
  RocksStore& store_;
  rpc::Mailbox mailbox_;
  bool under_way_ = false;
  kj::Own<kj::PromiseFulfiller<BackupFacts>> fulfiller_;
  std::jthread thread_;
};

}  // namespace millrace::master
