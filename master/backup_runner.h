// BackupRunner: backups of the master's database on a thread of their own, one at a time, while the master serves.
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
  // Made on the control thread; `store` outlives it.
  explicit BackupRunner(RocksStore& store) : store_(store) {}
  ~BackupRunner();  // waits for the one under way

  // RocksStore::BackUp. kBusy while another is under way.
  [[nodiscard]] kj::Promise<BackupFacts> Run(const std::string& directory);

 private:
  RocksStore& store_;
  rpc::Mailbox mailbox_;
  bool under_way_ = false;
  kj::Own<kj::PromiseFulfiller<BackupFacts>> fulfiller_;
  std::thread thread_;
};

}  // namespace millrace::master
