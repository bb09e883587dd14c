// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/commit_log.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/rpc/control_thread.h"
#include "base/rpc/status_codec.h"
#include "base/thread.h"

namespace millrace::rpc {
namespace {

// Numbers the calls. The writer thread takes all batches that have gathered, writes them as one, and tells the loop up
// to which number everything is written.
class ThreadedCommitLog final : public CommitLog {
 public:
  ThreadedCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure)
      : store_(store), waiters_(std::move(on_failure)), writer_([this] { WriteLoop(); }) {}

  ~ThreadedCommitLog() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    gathered_.notify_one();
    writer_.join();
    waiters_.Ended(written_, Status::Ok());
    if (!failure_.ok()) waiters_.Ended(0, failure_);
    waiters_.Reject(Cancelled("commit log: closed after a failed write"));
  }

  kj::Promise<void> Commit(WriteBatch batch) override {
    return waiters_.Add(Hand(std::move(batch), Durability::kSynced));
  }
  void CommitLazily(WriteBatch batch) override { Hand(std::move(batch), Durability::kBuffered); }

 private:
  std::uint64_t Hand(WriteBatch batch, Durability durability) {
    const std::lock_guard lock(mutex_);
    batch_.Append(std::move(batch));
    if (durability == Durability::kSynced) durability_ = Durability::kSynced;
    gathered_.notify_one();
    return ++handed_;
  }

  void WriteLoop() {
    NameThread("commit-log");
    while (true) {
      WriteBatch batch;
      Durability durability = Durability::kBuffered;
      std::uint64_t number = 0;
      {
        std::unique_lock lock(mutex_);
        gathered_.wait(lock, [this] { return closing_ || handed_ > taken_; });
        if (handed_ == taken_) return;
        std::swap(batch, batch_);
        std::swap(durability, durability_);
        number = taken_ = handed_;
      }
      const Status status = store_.Write(batch, durability);
      if (!status.ok()) {
        failure_ = status;
        mailbox_.Post([this, status] { waiters_.Ended(0, status); });
        return;
      }
      written_ = number;
      mailbox_.Post([this, number] { waiters_.Ended(number, Status::Ok()); });
    }
  }

  KeyValueStore& store_;
  CommitWaiters waiters_;  // used on the loop
  Mailbox mailbox_;

  std::mutex mutex_;
  std::condition_variable gathered_;
  // mutex_ guards these.
  WriteBatch batch_;                               // what the writer has not yet taken
  Durability durability_ = Durability::kBuffered;  // the most that any call in batch_ asks for
  std::uint64_t handed_ = 0;
  std::uint64_t taken_ = 0;
  bool closing_ = false;

  std::uint64_t written_ = 0;  // used by the writer until it is joined
  Status failure_;             // set by the writer before it posts about it and ends
  std::thread writer_;         // last, because it uses the members above
};

}  // namespace

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

std::unique_ptr<CommitLog> MakeThreadedCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure) {
  return std::make_unique<ThreadedCommitLog>(store, std::move(on_failure));
}

}  // namespace millrace::rpc
