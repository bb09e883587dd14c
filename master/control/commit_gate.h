// SPDX-License-Identifier: Apache-2.0
// CommitGate stands between the control strand and the commit log. It numbers the steps that it is given, so that an
// answer can wait for those that it may depend on. While it holds, further steps are kept in memory and their promises
// do not resolve; earlier steps are still written. It can be allowed to pass a limited number of bytes even then, if
// the log can take them. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/kv/spare_log.h"
#include "base/rpc/commit_log.h"

namespace millrace::master {

class CommitGate {
 public:
  // Begins open. Steps that wait when this is destroyed are not written, and their promises reject. Requires: `log`
  // outlives this.
  explicit CommitGate(rpc::CommitLog& log) : log_(log) {}
  ~CommitGate();
  CommitGate(const CommitGate&) = delete;

  // These do what the calls of rpc::CommitLog do.
  [[nodiscard]] kj::Promise<void> Commit(WriteBatch batch);
  void CommitLazily(WriteBatch batch);
  // Does what CommitLazily does, for changes that every start makes again if they are lost. No answer waits for such
  // changes.
  void CommitUnnumbered(WriteBatch batch);

  // Returns the number of the last step given to this.
  [[nodiscard]] std::uint64_t last() const { return handed_; }
  // Resolves when this step, and every one before it, is on disk; at once if they are. If a commit that others already
  // wait for is enough, this waits for that one and causes no further write. Requires: `step` is at most last().
  [[nodiscard]] kj::Promise<void> Kept(std::uint64_t step);
  [[nodiscard]] kj::Promise<void> Kept() { return Kept(handed_); }

  // Holds from now on. The promise resolves when all steps given before are on disk.
  [[nodiscard]] kj::Promise<void> Hold();
  // While it holds, lets batches through in order, as long as they fit into this many bytes (SpareLog::BytesOf).
  // Batches that nobody waits for may take only the first half. Requires: the promise of Hold has resolved.
  void Spend(std::uint64_t bytes);
  // Returns true if a batch of this many bytes would be let through if somebody waited for it.
  [[nodiscard]] bool CanSpend(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t spendable() const { return spends_ ? spendable_ : 0; }
  // Opens the gate: all that waits is written as one batch, before any later step.
  void Release();
  [[nodiscard]] bool holds() const { return holds_; }
  // Returns true if this step waits until the gate is opened.
  [[nodiscard]] bool HoldsBack(std::uint64_t step) const { return holds_ && step > passed_; }

 private:
  [[nodiscard]] kj::Promise<void> Pass(WriteBatch batch);
  [[nodiscard]] kj::Promise<void> Wait();
  [[nodiscard]] kj::Promise<void> PassWaiting();

  rpc::CommitLog& log_;
  bool holds_ = false;
  bool spends_ = false;
  std::uint64_t spendable_ = 0, for_lazy_ = 0;  // bytes; `spendable_` includes `for_lazy_`
  WriteBatch waiting_;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waiters_;
  kj::Promise<void> released_ = kj::READY_NOW;  // resolves the promises of the batches that waited
  std::uint64_t handed_ = 0;
  std::uint64_t passed_ = 0;  // handed on to the log
  std::shared_ptr<std::uint64_t> kept_ = std::make_shared<std::uint64_t>(0);
  kj::ForkedPromise<void> synced_ = nullptr;  // the newest commit that somebody waits for
  std::uint64_t synced_to_ = 0;               // the step that is on disk when `synced_` resolves
};

}  // namespace millrace::master
