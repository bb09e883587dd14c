#include "master/control/commit_gate.h"

#include <gtest/gtest.h>
#include <kj/async.h>

#include <memory>
#include <optional>
#include <string>

namespace millrace::master {
namespace {

WriteBatch Batch(const std::string& key, const std::string& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return batch;
}

class CommitGateTest : public testing::Test {
 protected:
  ~CommitGateTest() noexcept override = default;  // KJ's may throw
  std::optional<std::string> Stored(const std::string& key) { return *store_->Get(key); }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<rpc::CommitLog> log_ =
      rpc::MakeInlineCommitLog(*store_, [](const Status& why) { ADD_FAILURE() << why.message(); });
  std::optional<CommitGate> gate_{*log_};
};

TEST_F(CommitGateTest, AnOpenGateIsTheLog) {
  EXPECT_TRUE(gate_->Commit(Batch("a", "1")).poll(scope_));
  gate_->CommitLazily(Batch("b", "1"));
  EXPECT_EQ(Stored("a"), "1");
  EXPECT_EQ(Stored("b"), "1");
}

TEST_F(CommitGateTest, WhatComesWhileItHoldsIsWrittenInOrderWhenItIsReleased) {
  gate_->Hold();
  auto first = gate_->Commit(Batch("a", "1"));
  gate_->CommitLazily(Batch("a", "2"));
  auto last = gate_->Commit(Batch("b", "1"));
  EXPECT_FALSE(first.poll(scope_));
  EXPECT_FALSE(last.poll(scope_));
  EXPECT_EQ(Stored("a"), std::nullopt);
  gate_->Release();
  gate_->CommitLazily(Batch("b", "2"));
  EXPECT_TRUE(first.poll(scope_));
  EXPECT_TRUE(last.poll(scope_));
  EXPECT_EQ(Stored("a"), "2");
  EXPECT_EQ(Stored("b"), "2");
  EXPECT_TRUE(gate_->Commit({}).poll(scope_));
}

TEST_F(CommitGateTest, ABarrierWaitsTooAndAnOpenGateIsReleasedWithoutEffect) {
  gate_->Release();
  gate_->Hold();
  auto barrier = gate_->Commit({});
  EXPECT_FALSE(barrier.poll(scope_));
  gate_->Release();
  EXPECT_TRUE(barrier.poll(scope_));
  gate_->Hold();
  EXPECT_TRUE(gate_->holds());
}

TEST_F(CommitGateTest, WhatWaitsWhenItIsDestroyedIsNeitherWrittenNorAcknowledged) {
  gate_->Hold();
  auto lost = gate_->Commit(Batch("a", "1"));
  gate_.reset();
  log_.reset();
  EXPECT_EQ(Stored("a"), std::nullopt);
  bool rejected = false;
  lost.catch_([&rejected](kj::Exception&&) { rejected = true; }).wait(scope_);
  EXPECT_TRUE(rejected);
}

}  // namespace
}  // namespace millrace::master
