// CommitGate: a commit log that can be told to wait. While it holds, what is handed over is kept in memory and its
// promises do not resolve; what was handed over before is still written. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <vector>

#include "base/kv/key_value_store.h"
#include "base/rpc/commit_log.h"

namespace millrace::master {

class CommitGate {
 public:
  // Begins open. What waits when this is destroyed is not written, and its promises reject. Requires: `log` outlives
  // this.
  explicit CommitGate(rpc::CommitLog& log) : log_(log) {}
  ~CommitGate();
  CommitGate(const CommitGate&) = delete;

  // These do what rpc::CommitLog's do.
  [[nodiscard]] kj::Promise<void> Commit(WriteBatch batch);
  void CommitLazily(WriteBatch batch);

  void Hold() { holds_ = true; }
  // Opens the gate: what waits is written as one batch, before anything that comes later.
  void Release();
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  rpc::CommitLog& log_;
  bool holds_ = false;
  WriteBatch waiting_;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waiters_;
  kj::Promise<void> released_ = kj::READY_NOW;  // resolves the promises of what waited
};

}  // namespace millrace::master
