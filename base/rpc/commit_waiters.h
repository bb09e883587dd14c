// CommitWaiters: who waits for a commit log (commit_log.h), and what they are told: nobody of anything that the disk
// has not taken. Every commit log tells by this. Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <deque>
#include <functional>

#include "base/status.h"

namespace millrace::rpc {

class CommitWaiters {
 public:
  explicit CommitWaiters(std::function<void(const Status&)> on_failure) : on_failure_(std::move(on_failure)) {}

  // Returns a promise that resolves when what has this number is on disk. Requires: numbers never fall.
  [[nodiscard]] kj::Promise<void> Add(std::uint64_t number);
  // Takes in how writing everything up to `number` ended. The first failure is told to the owner (`on_failure`), once;
  // from then on no promise resolves, whatever is written: memory holds what the disk does not have.
  void Ended(std::uint64_t number, const Status& written);
  // Rejects the promises that are left.
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

}  // namespace millrace::rpc
