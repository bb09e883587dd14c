// SPDX-License-Identifier: Apache-2.0
#include "master/control/commit_gate.h"

#include <gtest/gtest.h>
#include <kj/async.h>

#include <memory>
#include <optional>
#include <string>

#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_store.h"

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
  void Hold() { EXPECT_TRUE(gate_->Hold().poll(scope_)); }

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
  Hold();
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
  Hold();
  auto barrier = gate_->Commit({});
  EXPECT_FALSE(barrier.poll(scope_));
  gate_->Release();
  EXPECT_TRUE(barrier.poll(scope_));
  Hold();
  EXPECT_TRUE(gate_->holds());
}

TEST_F(CommitGateTest, WhatWaitsWhenItIsDestroyedIsNeitherWrittenNorAcknowledged) {
  Hold();
  auto lost = gate_->Commit(Batch("a", "1"));
  gate_.reset();
  log_.reset();
  EXPECT_EQ(Stored("a"), std::nullopt);
  bool rejected = false;
  lost.catch_([&rejected](kj::Exception&&) { rejected = true; }).wait(scope_);
  EXPECT_TRUE(rejected);
}

// ---- the numbers of steps ----

TEST_F(CommitGateTest, AStepIsKeptOnceACommitAfterItIsOnDisk) {
  EXPECT_EQ(gate_->last(), 0u);
  EXPECT_TRUE(gate_->Kept().poll(scope_));
  gate_->CommitLazily(Batch("a", "1"));
  EXPECT_EQ(gate_->last(), 1u);
  auto empty = gate_->Commit({});
  EXPECT_EQ(gate_->last(), 1u) << "nothing was changed";
  EXPECT_TRUE(empty.poll(scope_));
  EXPECT_TRUE(gate_->Kept(1).poll(scope_));
}

TEST_F(CommitGateTest, AHeldStepIsKeptWhenItIsReleased) {
  auto first = gate_->Commit(Batch("a", "1"));
  EXPECT_TRUE(first.poll(scope_));
  Hold();
  EXPECT_FALSE(gate_->HoldsBack(gate_->last()));
  gate_->CommitUnnumbered(Batch("u", "1"));
  EXPECT_FALSE(gate_->HoldsBack(gate_->last())) << "what every start makes again";
  EXPECT_TRUE(gate_->Kept().poll(scope_));
  gate_->CommitLazily(Batch("b", "1"));
  EXPECT_TRUE(gate_->HoldsBack(2));
  EXPECT_FALSE(gate_->HoldsBack(1));
  auto kept = gate_->Kept(2);
  EXPECT_FALSE(kept.poll(scope_));
  gate_->Release();
  EXPECT_TRUE(kept.poll(scope_));
  EXPECT_FALSE(gate_->HoldsBack(2));
}

// ---- what may be spent ----

TEST_F(CommitGateTest, WhatFitsIsLetThroughInOrder) {
  Hold();
  EXPECT_FALSE(gate_->CanSpend(0));
  auto before = gate_->Commit(Batch("a", "1"));
  EXPECT_FALSE(before.poll(scope_));
  gate_->Spend(1000);
  EXPECT_TRUE(before.poll(scope_)) << "it fits";
  EXPECT_EQ(Stored("a"), "1");
  const std::uint64_t left = gate_->spendable();
  EXPECT_LT(left, 1000u);
  EXPECT_TRUE(gate_->CanSpend(100));
  EXPECT_FALSE(gate_->CanSpend(left));

  gate_->CommitLazily(Batch("b", std::string(600, 'x')));  // more than its half
  EXPECT_EQ(Stored("b"), std::nullopt);
  auto urgent = gate_->Commit(Batch("b", "2"));
  EXPECT_TRUE(urgent.poll(scope_)) << "it takes along what waits before it";
  EXPECT_EQ(Stored("b"), "2");

  auto large = gate_->Commit(Batch("c", std::string(600, 'x')));
  auto small = gate_->Commit(Batch("d", "1"));
  EXPECT_FALSE(large.poll(scope_));
  EXPECT_FALSE(small.poll(scope_)) << "what comes later does not overtake";
  EXPECT_TRUE(gate_->HoldsBack(gate_->last()));
  gate_->Release();
  EXPECT_TRUE(large.poll(scope_));
  EXPECT_TRUE(small.poll(scope_));
  Hold();
  EXPECT_FALSE(gate_->CanSpend(0)) << "it is given again";
}

TEST_F(CommitGateTest, WhatWaitsInMemoryIsNotKeptByASyncOfWhatWasLetThrough) {
  Hold();
  gate_->Spend(1000);
  gate_->CommitLazily(Batch("a", "1"));
  const std::uint64_t through = gate_->last();
  auto large = gate_->Commit(Batch("b", std::string(2000, 'x')));
  EXPECT_TRUE(gate_->Kept(through).poll(scope_));
  EXPECT_TRUE(gate_->HoldsBack(gate_->last()));
  EXPECT_FALSE(gate_->Kept().poll(scope_));
  EXPECT_FALSE(large.poll(scope_));
  gate_->Release();
  EXPECT_TRUE(gate_->Kept().poll(scope_));
  EXPECT_EQ(Stored("b"), std::string(2000, 'x'));
}

TEST_F(CommitGateTest, WhatNobodyWaitsForTakesHalf) {
  Hold();
  gate_->Spend(1000);
  for (int i = 0; i < 20; ++i) gate_->CommitLazily(Batch("k" + std::to_string(i), "1"));
  EXPECT_EQ(Stored("k0"), "1");
  EXPECT_EQ(Stored("k19"), std::nullopt);
  EXPECT_GT(gate_->spendable(), 450u);
  EXPECT_LT(gate_->spendable(), 600u);
}

}  // namespace
}  // namespace millrace::master
