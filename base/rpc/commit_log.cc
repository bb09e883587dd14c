#include "base/rpc/commit_log.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/rpc/control_thread.h"
#include "base/rpc/status_codec.h"
#include "base/thread_name.h"

namespace millrace::rpc {
namespace {

class InlineCommitLog final : public CommitLog {
 public:
  InlineCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure)
      : store_(store), on_failure_(std::move(on_failure)) {}

  kj::Promise<void> Commit(WriteBatch batch) override {
    if (!Write(batch, Durability::kSynced)) return kj::NEVER_DONE;
    return kj::READY_NOW;
  }
  void CommitLazily(WriteBatch batch) override { Write(batch, Durability::kBuffered); }

 private:
  bool Write(const WriteBatch& batch, Durability durability) {
    if (failed_) return false;
    const Status status = store_.Write(batch, durability);
    if (status.ok()) return true;
    failed_ = true;
    on_failure_(status);
    return false;
  }

  KeyValueStore& store_;
  std::function<void(const Status&)> on_failure_;
  bool failed_ = false;
};

// Numbers the calls. The writer thread takes all batches that have gathered, writes them as one, and tells the loop up
// to which number everything is written.
class ThreadedCommitLog final : public CommitLog {
 public:
  ThreadedCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure)
      : store_(store), on_failure_(std::move(on_failure)), writer_([this] { WriteLoop(); }) {}

  ~ThreadedCommitLog() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    gathered_.notify_one();
    writer_.join();
    Acknowledge(written_);
    ReportFailure();
    for (Waiter& w : waiters_) w.fulfiller->reject(ToException(Cancelled("commit log: closed after a failed write")));
  }

  kj::Promise<void> Commit(WriteBatch batch) override {
    auto pair = kj::newPromiseAndFulfiller<void>();
    waiters_.push_back({Hand(std::move(batch), Durability::kSynced), kj::mv(pair.fulfiller)});
    return kj::mv(pair.promise);
  }
  void CommitLazily(WriteBatch batch) override { Hand(std::move(batch), Durability::kBuffered); }

 private:
  struct Waiter {
    std::uint64_t number;
    kj::Own<kj::PromiseFulfiller<void>> fulfiller;
  };

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
        mailbox_.Post([this] { ReportFailure(); });
        return;
      }
      written_ = number;
      mailbox_.Post([this, number] { Acknowledge(number); });
    }
  }

  void Acknowledge(std::uint64_t number) {
    for (; !waiters_.empty() && waiters_.front().number <= number; waiters_.pop_front())
      waiters_.front().fulfiller->fulfill();
  }

  void ReportFailure() {
    if (!failure_.ok() && on_failure_) std::exchange(on_failure_, nullptr)(failure_);
  }

  KeyValueStore& store_;
  std::function<void(const Status&)> on_failure_;  // used on the loop; empty once it has been called
  std::deque<Waiter> waiters_;                     // used on the loop
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

std::unique_ptr<CommitLog> MakeThreadedCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure) {
  return std::make_unique<ThreadedCommitLog>(store, std::move(on_failure));
}

std::unique_ptr<CommitLog> MakeInlineCommitLog(KeyValueStore& store, std::function<void(const Status&)> on_failure) {
  return std::make_unique<InlineCommitLog>(store, std::move(on_failure));
}

}  // namespace millrace::rpc
