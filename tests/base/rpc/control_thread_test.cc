// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/control_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

#include "base/rpc/status_codec.h"

namespace millrace::rpc {
namespace {

TEST(ControlThreadTest, RunReturnsWhatHappenedOnTheLoop) {
  ControlThread control;
  std::thread::id loop_thread;
  EXPECT_TRUE(control
                  .Run([&](kj::AsyncIoContext& io) {
                    loop_thread = std::this_thread::get_id();
                    return io.provider->getTimer().afterDelay(1 * kj::MICROSECONDS);
                  })
                  .ok());
  EXPECT_NE(loop_thread, std::this_thread::get_id());
  EXPECT_EQ(control.Run([](kj::AsyncIoContext&) -> kj::Promise<void> { return ToException(NotFound("x")); }).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(
      control.Run([](kj::AsyncIoContext&) -> kj::Promise<void> { kj::throwFatalException(ToException(Busy("x"))); })
          .code(),
      StatusCode::kBusy);
  EXPECT_EQ(control.Run([](kj::AsyncIoContext&) -> kj::Promise<void> { throw std::runtime_error("x"); }).code(),
            StatusCode::kInternal);
}

TEST(ControlThreadTest, PostsRunInOrderAndBeforeALaterRun) {
  ControlThread control;
  std::vector<int> seen;
  for (int i = 0; i < 1000; ++i) control.Post([&seen, i](kj::AsyncIoContext&) { seen.push_back(i); });
  EXPECT_TRUE(control.Run([](kj::AsyncIoContext&) { return kj::Promise<void>(kj::READY_NOW); }).ok());
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(ControlThreadTest, StopCancelsWhatIsUnderWay) {
  ControlThread control;
  std::promise<void> started;
  bool dropped_on_loop = false;
  std::thread caller([&] {
    const Status status = control.Run([&](kj::AsyncIoContext&) {
      started.set_value();
      auto loop_thread = std::this_thread::get_id();
      auto guard =
          kj::defer([&dropped_on_loop, loop_thread] { dropped_on_loop = loop_thread == std::this_thread::get_id(); });
      return kj::Promise<void>(kj::NEVER_DONE).attach(kj::mv(guard));
    });
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_TRUE(dropped_on_loop);
  });
  started.get_future().wait();
  control.Stop();
  caller.join();
  EXPECT_EQ(control.Run([](kj::AsyncIoContext&) { return kj::Promise<void>(kj::READY_NOW); }).code(),
            StatusCode::kCancelled);
  control.Post([](kj::AsyncIoContext&) { FAIL(); });
  control.Stop();
}

TEST(ControlThreadTest, ManyCallersAtOnce) {
  ControlThread control;
  int count = 0;  // used on the loop
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(control
                        .Run([&](kj::AsyncIoContext&) {
                          ++count;
                          return kj::Promise<void>(kj::READY_NOW);
                        })
                        .ok());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  control.Stop();
  EXPECT_EQ(count, 800);
}

TEST(MailboxTest, KeepsTheOrderOfEachThread) {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  Mailbox mailbox;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::vector<std::vector<int>> seen(kThreads);
  int left = kThreads * kEach;
  auto all = kj::newPromiseAndFulfiller<void>();
  const auto loop_thread = std::this_thread::get_id();
  std::vector<std::thread> posters;
  for (int t = 0; t < kThreads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        mailbox.Post([&, t, i] {
          EXPECT_EQ(std::this_thread::get_id(), loop_thread);
          seen[static_cast<std::size_t>(t)].push_back(i);
          if (--left == 0) all.fulfiller->fulfill();
        });
      }
    });
  }
  all.promise.wait(io.waitScope);
  for (std::thread& poster : posters) poster.join();
  for (const auto& one : seen) {
    ASSERT_EQ(one.size(), std::size_t{kEach});
    for (int i = 0; i < kEach; ++i) EXPECT_EQ(one[static_cast<std::size_t>(i)], i);
  }
}

TEST(MailboxTest, PostingFromTheLoopAndFromAPostedFunction) {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  Mailbox mailbox;
  auto done = kj::newPromiseAndFulfiller<int>();
  mailbox.Post([&] { mailbox.Post([&] { done.fulfiller->fulfill(7); }); });
  EXPECT_EQ(done.promise.wait(io.waitScope), 7);
}

TEST(MailboxTest, DestroyingItDropsWhatHasNotRun) {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  auto held = std::make_shared<int>(0);
  {
    Mailbox mailbox;
    std::thread([&] { mailbox.Post([held] { FAIL(); }); }).join();
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  io.waitScope.poll();
}

}  // namespace
}  // namespace millrace::rpc
