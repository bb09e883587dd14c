#include "master/control/commit_gate.h"

#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::master {

CommitGate::~CommitGate() {
  for (auto& waiter : waiters_) {
    waiter->reject(rpc::ToException(Cancelled("the master stops, and its disk had no room: this was not written")));
  }
}

kj::Promise<void> CommitGate::Commit(WriteBatch batch) {
  if (!holds_) return log_.Commit(std::move(batch));
  waiting_.Append(std::move(batch));
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiters_.push_back(kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

void CommitGate::CommitLazily(WriteBatch batch) {
  if (!holds_) return log_.CommitLazily(std::move(batch));
  waiting_.Append(std::move(batch));
}

// Commits even if nothing has waited: whoever waits may wait for what was released before and is not on disk yet.
void CommitGate::Release() {
  if (!std::exchange(holds_, false)) return;
  auto committed = log_.Commit(std::exchange(waiting_, {}));
  auto told = committed.then([waiters = std::exchange(waiters_, {})]() mutable {
    for (auto& waiter : waiters) waiter->fulfill();
  });
  released_ = kj::joinPromises(kj::arr(kj::mv(released_), kj::mv(told))).eagerlyEvaluate(nullptr);
}

}  // namespace millrace::master
