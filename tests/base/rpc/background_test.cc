// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/background.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace millrace::worker {
namespace {

TEST(ThreadBackgroundTest, WorksElsewhereAndComesBackInOrder) {
  auto io = kj::setupAsyncIo();
  rpc::Mailbox mailbox;
  rpc::ThreadBackground background(mailbox, "background-test");
  auto last = kj::newPromiseAndFulfiller<void>();
  const std::thread::id here = std::this_thread::get_id();
  std::vector<int> worked, came_back;
  bool work_was_here = false, then_was_here = true;
  for (int i = 0; i < 100; ++i) {
    background.Run(
        [&, i] {
          work_was_here |= std::this_thread::get_id() == here;
          worked.push_back(i);
        },
        [&, i] {
          then_was_here &= std::this_thread::get_id() == here;
          came_back.push_back(i);
          if (i == 99) last.fulfiller->fulfill();
        });
  }
  EXPECT_TRUE(came_back.empty());
  last.promise.wait(io.waitScope);
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(worked, all);
  EXPECT_EQ(came_back, all);
  EXPECT_FALSE(work_was_here);
  EXPECT_TRUE(then_was_here);
}

TEST(ThreadBackgroundTest, ItsEndWaitsForTheWorkAtHand) {
  auto io = kj::setupAsyncIo();
  rpc::Mailbox mailbox;
  std::latch begun(1);
  std::atomic<bool> finished = false;
  {
    rpc::ThreadBackground background(mailbox, "background-test");
    background.Run(
        [&] {
          begun.count_down();
          for (int i = 0; i < 1000; ++i) std::this_thread::yield();
          finished = true;
        },
        [] {});
    begun.wait();
  }
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace millrace::worker
