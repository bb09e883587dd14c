// CommitGate: the commit log as the control strand sees it. It numbers the steps that are handed over, so that an
// answer can wait for those that it may have seen, and it can be told to hold: what is handed over is then kept in
// memory and its promises do not resolve; what was handed over before is still written. While it holds it can be given
// so many bytes that the log can take all the same. Thread rule: the control thread.
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
  // Begins open. What waits when this is destroyed is not written, and its promises reject. Requires: `log` outlives
  // this.
  explicit CommitGate(rpc::CommitLog& log) : log_(log) {}
  ~CommitGate();
  CommitGate(const CommitGate&) = delete;

  // These do what rpc::CommitLog's do.
  [[nodiscard]] kj::Promise<void> Commit(WriteBatch batch);
  void CommitLazily(WriteBatch batch);
  // Does what CommitLazily does, for what every start makes anew if it is lost: no answer waits for it.
  void CommitUnnumbered(WriteBatch batch);

  // Returns the number of the last step that was handed over.
  [[nodiscard]] std::uint64_t last() const { return handed_; }
  // Resolves when this step, and every one before it, is on disk; at once if they are. Waits with those who wait
  // already: no more is written for it than what they need. Requires: `step` is at most last().
  [[nodiscard]] kj::Promise<void> Kept(std::uint64_t step);
  [[nodiscard]] kj::Promise<void> Kept() { return Kept(handed_); }

  // Resolves when what was handed over before is on disk.
  [[nodiscard]] kj::Promise<void> Hold();
  // Lets through, while it holds, what fits into so many bytes (SpareLog::BytesOf), in order: what nobody waits for may
  // take the first half of them. Requires: what Hold returned has resolved.
  void Spend(std::uint64_t bytes);
  // Returns whether a batch of so many bytes that somebody waits for would be let through.
  [[nodiscard]] bool CanSpend(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t spendable() const { return spends_ ? spendable_ : 0; }
  // Opens the gate: what waits is written as one batch, before anything that comes later.
  void Release();
  [[nodiscard]] bool holds() const { return holds_; }
  // Returns whether this step waits until the gate is opened.
  [[nodiscard]] bool HoldsBack(std::uint64_t step) const { return holds_ && step > passed_; }

 private:
  [[nodiscard]] kj::Promise<void> Pass(WriteBatch batch);
  [[nodiscard]] kj::Promise<void> Wait();
  [[nodiscard]] kj::Promise<void> PassWaiting();

  rpc::CommitLog& log_;
  bool holds_ = false;
  bool spends_ = false;
  std::uint64_t spendable_ = 0, for_lazy_ = 0;  // bytes; the second is among the first
  WriteBatch waiting_;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waiters_;
  kj::Promise<void> released_ = kj::READY_NOW;  // resolves the promises of what waited
  std::uint64_t handed_ = 0;
  std::uint64_t passed_ = 0;  // handed on to the log
  std::shared_ptr<std::uint64_t> kept_ = std::make_shared<std::uint64_t>(0);
  kj::ForkedPromise<void> synced_ = nullptr;  // the newest commit that somebody waits for:
  std::uint64_t synced_to_ = 0;               // when it resolves, this step is on disk
};

}  // namespace millrace::master
