// SPDX-License-Identifier: Apache-2.0
// CommitLog: writes batches to a KeyValueStore, in order, many of them with one sync (group commit). The caller changes
// its memory, hands over the batch, and answers its client only when the promise resolves: nothing is acknowledged
// before it is on disk. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::rpc {

// CommitWaiters: the promises of a commit log. A promise resolves only when the disk has its batch.
// Every commit log resolves its promises through this class. Thread rule: the control thread.
class CommitWaiters {
 public:
  explicit CommitWaiters(std::function<void(const Status&)> on_failure) : on_failure_(std::move(on_failure)) {}

  // Returns a promise that resolves when the batch of this number is on disk. Requires: numbers never fall.
  [[nodiscard]] kj::Promise<void> Add(std::uint64_t number);
  // Takes the result of writing everything up to `number`. The first failure is passed to `on_failure`, once. From then
  // on no promise resolves, whatever is written: memory holds changes that the disk lacks.
  void Ended(std::uint64_t number, const Status& written);
  // Rejects the remaining promises.
  void Reject(const Status& why);
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  struct Waiter {
    std::uint64_t number;
    kj::Own<kj::PromiseFulfiller<void>> fulfiller;
  };
  std::function<void(const Status&)> on_failure_;
  std::deque<Waiter> waiters_;
  bool failed_ = false;
};

class CommitLog {
 public:
  virtual ~CommitLog() = default;
  // Returns a promise that resolves when this batch, and every one before it, is on disk. Batches are written in the
  // order of the calls; an empty batch waits for those before it.
  // A failed write ends the log. It calls `on_failure` once, on the control thread, since the process must not continue
  // with changes in memory that the disk lacks. Nothing is written after that; the promises of unwritten batches do not
  // resolve, and are rejected when the log is destroyed.
  [[nodiscard]] virtual kj::Promise<void> Commit(WriteBatch batch) = 0;
  // Writes the batch in the same order, without a promise: for issued ids and progress. Once written, the batch
  // survives a crash of the process; once a later Commit has resolved, it survives a crash of the machine.
  virtual void CommitLazily(WriteBatch batch) = 0;
};

// Returns a log that writes on a thread of its own: all batches that have gathered become one synced write. Its
// destructor writes the batches handed over, then joins the thread. Requires: the log is destroyed on the control
// thread.
[[nodiscard]] std::unique_ptr<CommitLog> MakeThreadedCommitLog(KeyValueStore& store,
                                                               std::function<void(const Status&)> on_failure);

}  // namespace millrace::rpc
