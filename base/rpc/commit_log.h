// CommitLog: batches to a KeyValueStore, in order, many per sync (group commit). The caller changes memory, hands the
// batch over, and tells the world only when the promise resolves: nothing is acknowledged before it is on disk.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>

#include "base/kv/key_value_store.h"

namespace millrace::rpc {

class CommitLog {
 public:
  virtual ~CommitLog() = default;
  // Resolves when this batch, and every one before it, is on disk. Order of calls is order on disk. An empty batch
  // waits for those before it. Control thread. A failed write is the end: `on_failure` is called once, on the control
  // thread (the process must not go on with memory that disk does not have), nothing later is written, and the promise
  // never resolves; when the log is destroyed after that, it rejects.
  [[nodiscard]] virtual kj::Promise<void> Commit(WriteBatch batch) = 0;
  // The same order, but nobody waits (ids handed out, progress). Survives the death of the process once written, that
  // of the machine once a later Commit has resolved.
  virtual void CommitLazily(WriteBatch batch) = 0;
};

// Writes on a thread of its own: all that has gathered becomes one synced write. Destroy on the control thread: writes
// what was handed over, then joins.
[[nodiscard]] std::unique_ptr<CommitLog> MakeThreadedCommitLog(KeyValueStore& store,
                                                               std::function<void(const Status&)> on_failure);
// Writes at once, in the caller: for driven time.
[[nodiscard]] std::unique_ptr<CommitLog> MakeInlineCommitLog(KeyValueStore& store,
                                                             std::function<void(const Status&)> on_failure);

}  // namespace millrace::rpc
