// CommitWaiters: the promises of a commit log (commit_log.h). A promise resolves only when the disk has its batch.
// Every commit log resolves its promises through this class. Thread rule: the control thread.
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

}  // namespace millrace::rpc
