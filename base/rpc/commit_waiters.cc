#include "base/rpc/commit_waiters.h"

#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::rpc {

kj::Promise<void> CommitWaiters::Add(std::uint64_t number) {
  auto pair = kj::newPromiseAndFulfiller<void>();
  waiters_.push_back({number, kj::mv(pair.fulfiller)});
  return kj::mv(pair.promise);
}

void CommitWaiters::Ended(std::uint64_t number, const Status& written) {
  if (failed_) return;
  failed_ = !written.ok();
  if (failed_) return on_failure_(written);
  for (; !waiters_.empty() && waiters_.front().number <= number; waiters_.pop_front())
    waiters_.front().fulfiller->fulfill();
}

void CommitWaiters::Reject(const Status& why) {
  for (Waiter& waiter : waiters_) waiter.fulfiller->reject(ToException(why));
  waiters_.clear();
}

}  // namespace millrace::rpc
