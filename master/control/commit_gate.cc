// SPDX-License-Identifier: Apache-2.0
#include "master/control/commit_gate.h"

#include <algorithm>
#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::master {

CommitGate::~CommitGate() {
  for (auto& waiter : waiters_) {
    waiter->reject(rpc::ToException(Cancelled("the master stops, and its disk had no room: this was not written")));
  }
}

kj::Promise<void> CommitGate::Commit(WriteBatch batch) {
  if (!batch.empty()) ++handed_;
  if (!holds_) return Pass(std::move(batch));
  const bool passes = CanSpend(SpareLog::BytesOf(batch));
  waiting_.Append(std::move(batch));
  return passes ? PassWaiting() : Wait();
}

void CommitGate::CommitLazily(WriteBatch batch) {
  if (!batch.empty()) ++handed_;
  CommitUnnumbered(std::move(batch));
}

void CommitGate::CommitUnnumbered(WriteBatch batch) {
  if (holds_) {
    const std::uint64_t bytes = SpareLog::BytesOf(batch);
    if (!spends_ || !waiting_.empty() || bytes > for_lazy_) return waiting_.Append(std::move(batch));
    spendable_ -= bytes;
    for_lazy_ -= bytes;
  }
  passed_ = handed_;
  log_.CommitLazily(std::move(batch));
}

kj::Promise<void> CommitGate::Wait() {
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiters_.push_back(kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

kj::Promise<void> CommitGate::Pass(WriteBatch batch) {
  if (waiting_.empty()) passed_ = handed_;
  synced_to_ = passed_;
  synced_ =
      log_.Commit(std::move(batch)).then([kept = kept_, number = passed_] { *kept = std::max(*kept, number); }).fork();
  return synced_.addBranch();
}

// Commits even if nothing has waited: a waiting call may need steps that were released earlier and are not on disk yet.
kj::Promise<void> CommitGate::PassWaiting() {
  spendable_ -= std::min(spendable_, SpareLog::BytesOf(waiting_));
  for_lazy_ = std::min(for_lazy_, spendable_);
  auto passed = Pass(std::exchange(waiting_, {}));
  auto told = synced_.addBranch().then([waiters = std::exchange(waiters_, {})]() mutable {
    for (auto& waiter : waiters) waiter->fulfill();
  });
  released_ = kj::joinPromises(kj::arr(kj::mv(released_), kj::mv(told))).eagerlyEvaluate(nullptr);
  return passed;
}

kj::Promise<void> CommitGate::Kept(std::uint64_t step) {
  if (step <= *kept_) return kj::READY_NOW;
  if (step <= synced_to_) return synced_.addBranch();
  if (holds_ && (!spends_ || HoldsBack(step))) return Wait();
  return Pass({});
}

kj::Promise<void> CommitGate::Hold() {
  holds_ = true;
  spends_ = false;
  passed_ = handed_;
  if (*kept_ >= passed_) return kj::READY_NOW;
  return Pass({});
}

void CommitGate::Spend(std::uint64_t bytes) {
  spends_ = holds_ && bytes > 0;
  spendable_ = bytes;
  for_lazy_ = bytes / 2;
  if (CanSpend(0)) (void)PassWaiting();
}

bool CommitGate::CanSpend(std::uint64_t bytes) const {
  return spends_ && bytes + SpareLog::BytesOf(waiting_) <= spendable_;
}

void CommitGate::Release() {
  if (!std::exchange(holds_, false)) return;
  spends_ = false;
  (void)PassWaiting();
}

}  // namespace millrace::master
