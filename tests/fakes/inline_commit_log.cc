// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/inline_commit_log.h"

#include <utility>

#include "base/rpc/commit_log.h"

namespace millrace::rpc {
namespace {

class InlineCommitLog final : public CommitLog {
 public:
  InlineCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure)
      : store_(store), waiters_(std::move(on_failure)) {}

  kj::Promise<void> Commit(WriteBatch batch) override {
    Write(batch, Durability::kSynced);
    if (waiters_.failed()) return kj::NEVER_DONE;
    return kj::READY_NOW;
  }
  void CommitLazily(WriteBatch batch) override { Write(batch, Durability::kBuffered); }

 private:
  void Write(const WriteBatch& batch, Durability durability) {
    if (!waiters_.failed()) waiters_.Ended(0, store_.Write(batch, durability));
  }

  KeyValueStore& store_;
  CommitWaiters waiters_;
};

}  // namespace

std::unique_ptr<CommitLog> MakeInlineCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure) {
  return std::make_unique<InlineCommitLog>(store, std::move(on_failure));
}

}  // namespace millrace::rpc
