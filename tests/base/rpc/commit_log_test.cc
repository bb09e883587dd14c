// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/commit_log.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <future>
#include <mutex>

#include "tests/fakes/inline_commit_log.h"

namespace millrace::rpc {
namespace {

// A store that notes every write, and that can hold up the first write or refuse later ones.
class NotingStore final : public KeyValueStore {
 public:
  struct Noted {
    std::vector<std::string> keys;
    Durability durability;
  };

  Status Write(const WriteBatch& batch, Durability durability) override {
    if (hold_first && writes.empty()) {
      entered.set_value();
      release.get_future().wait();
    }
    if (writes.size() >= refuse_from) return NoSpace("disk full");
    Noted noted{{}, durability};
    for (const auto& change : batch.changes()) noted.keys.push_back(change.key);
    writes.push_back(std::move(noted));
    return Status::Ok();
  }
  Result<std::optional<std::string>> Get(std::string_view) const override { return std::optional<std::string>(); }
  Status Scan(std::string_view, std::string_view,
              const std::function<bool(std::string_view, std::string_view)>&) const override {
    return Status::Ok();
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const Noted& noted : writes) keys.insert(keys.end(), noted.keys.begin(), noted.keys.end());
    return keys;
  }

  bool hold_first = false;
  std::size_t refuse_from = 1000000;
  std::promise<void> entered;
  std::promise<void> release;
  std::vector<Noted> writes;  // may be read once the log is destroyed or its promises have resolved
};

WriteBatch Batch(const std::string& key) {
  WriteBatch batch;
  batch.Put(key, "v");
  return batch;
}

void NoFailure(const Status& status) { ADD_FAILURE() << status.message(); }

class CommitLogTest : public testing::Test {
 protected:
  ~CommitLogTest() noexcept override = default;  // KJ's destructors may throw

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  NotingStore store_;
};

TEST_F(CommitLogTest, ManyBatchesShareASync) {
  store_.hold_first = true;
  const auto log = MakeThreadedCommitLog(store_, NoFailure);
  std::vector<std::string> expected = {"first"};
  std::vector<kj::Promise<void>> promises;
  promises.push_back(log->Commit(Batch("first")));
  store_.entered.get_future().wait();
  for (int i = 0; i < 100; ++i) {
    expected.push_back(std::to_string(i));
    promises.push_back(log->Commit(Batch(expected.back())));
  }
  for (auto& promise : promises) EXPECT_FALSE(promise.poll(io_.waitScope));
  store_.release.set_value();
  promises.back().wait(io_.waitScope);
  for (std::size_t i = 0; i + 1 < promises.size(); ++i) EXPECT_TRUE(promises[i].poll(io_.waitScope));
  ASSERT_EQ(store_.writes.size(), 2u);
  for (const auto& write : store_.writes) EXPECT_EQ(write.durability, Durability::kSynced);
  EXPECT_EQ(store_.Keys(), expected);
}

TEST_F(CommitLogTest, LazyOnesKeepTheOrderAndNeedNoSync) {
  store_.hold_first = true;
  auto log = MakeThreadedCommitLog(store_, NoFailure);
  log->CommitLazily(Batch("a"));
  store_.entered.get_future().wait();
  log->CommitLazily(Batch("b"));
  auto committed = log->Commit(Batch("c"));
  log->CommitLazily(Batch("d"));
  store_.release.set_value();
  committed.wait(io_.waitScope);
  log.reset();
  EXPECT_EQ(store_.Keys(), (std::vector<std::string>{"a", "b", "c", "d"}));
  ASSERT_EQ(store_.writes.size(), 2u);
  EXPECT_EQ(store_.writes[0].durability, Durability::kBuffered);
  EXPECT_EQ(store_.writes[1].durability, Durability::kSynced);
}

TEST_F(CommitLogTest, AnEmptyBatchWaitsForThoseBefore) {
  store_.hold_first = true;
  const auto log = MakeThreadedCommitLog(store_, NoFailure);
  log->CommitLazily(Batch("a"));
  store_.entered.get_future().wait();
  auto barrier = log->Commit({});
  EXPECT_FALSE(barrier.poll(io_.waitScope));
  store_.release.set_value();
  barrier.wait(io_.waitScope);
  EXPECT_EQ(store_.Keys(), std::vector<std::string>{"a"});
  EXPECT_EQ(store_.writes.back().durability, Durability::kSynced);
}

TEST_F(CommitLogTest, DestroyingItWritesWhatWasHandedOver) {
  kj::Promise<void> last = nullptr;
  {
    const auto log = MakeThreadedCommitLog(store_, NoFailure);
    for (int i = 0; i < 50; ++i) log->CommitLazily(Batch("k"));
    last = log->Commit(Batch("last"));
  }
  EXPECT_EQ(store_.Keys().size(), 51u);
  last.wait(io_.waitScope);
}

TEST_F(CommitLogTest, AFailedWriteIsReportedOnceAndNeverAcknowledged) {
  store_.refuse_from = 1;
  auto reported = kj::newPromiseAndFulfiller<void>();
  std::vector<Status> failures;
  auto log = MakeThreadedCommitLog(store_, [&](const Status& status) {
    failures.push_back(status);
    reported.fulfiller->fulfill();
  });
  log->Commit(Batch("a")).wait(io_.waitScope);
  auto lost = log->Commit(Batch("b"));
  reported.promise.wait(io_.waitScope);
  auto later = log->Commit(Batch("c"));
  EXPECT_FALSE(lost.poll(io_.waitScope));
  EXPECT_FALSE(later.poll(io_.waitScope));
  log.reset();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].code(), StatusCode::kNoSpace);
  EXPECT_EQ(store_.Keys(), std::vector<std::string>{"a"});
}

TEST_F(CommitLogTest, AFailureIsReportedEvenIfTheLoopNeverTurned) {
  store_.refuse_from = 0;
  int failures = 0;
  {
    const auto log = MakeThreadedCommitLog(store_, [&](const Status&) { ++failures; });
    log->CommitLazily(Batch("a"));
  }
  EXPECT_EQ(failures, 1);
}

TEST_F(CommitLogTest, InlineWritesInTheCall) {
  int failures = 0;
  const auto log = MakeInlineCommitLog(store_, [&](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kNoSpace);
    ++failures;
  });
  log->CommitLazily(Batch("a"));
  EXPECT_TRUE(log->Commit(Batch("b")).poll(io_.waitScope));
  EXPECT_TRUE(log->Commit({}).poll(io_.waitScope));
  EXPECT_EQ(store_.Keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(store_.writes[0].durability, Durability::kBuffered);
  EXPECT_EQ(store_.writes[1].durability, Durability::kSynced);
  store_.refuse_from = 0;
  EXPECT_FALSE(log->Commit(Batch("c")).poll(io_.waitScope));
  store_.refuse_from = 1000000;
  EXPECT_FALSE(log->Commit(Batch("d")).poll(io_.waitScope));
  log->CommitLazily(Batch("e"));
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(store_.Keys(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace millrace::rpc
