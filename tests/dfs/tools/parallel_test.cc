// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

namespace millrace::dfs {
namespace {

TEST(RunParallelTest, DoesEachPieceOnce) {
  std::vector<std::atomic<int>> done(1000);
  EXPECT_TRUE(RunParallel(done.size(), 8, [&](std::size_t i) {
                ++done[i];
                return Status::Ok();
              }).ok());
  for (const auto& count : done) EXPECT_EQ(count, 1);
}

TEST(RunParallelTest, SeveralAreInFlight) {
  std::latch all(4);
  EXPECT_TRUE(RunParallel(4, 4, [&](std::size_t) {
                all.arrive_and_wait();  // hangs unless four are under way at once
                return Status::Ok();
              }).ok());
}

TEST(RunParallelTest, BeginsNothingAfterAFailure) {
  std::atomic<int> begun = 0;
  const Status failure = RunParallel(1000, 1, [&](std::size_t i) {
    ++begun;
    return i == 5 ? NotFound("five") : Status::Ok();
  });
  EXPECT_EQ(failure.message(), "five");
  EXPECT_EQ(begun, 6);
}

TEST(TurnsTest, PartsComeInOrderThoughALaterOneIsReadyFirst) {
  Turns turns;
  std::latch second_ready(1);
  std::vector<std::size_t> order;
  EXPECT_TRUE(RunParallel(3, 3, [&](std::size_t i) {
                if (i == 0) second_ready.wait();
                if (i == 1) second_ready.count_down();
                EXPECT_TRUE(turns.Await(i));
                order.push_back(i);
                return turns.End(i, Status::Ok());
              }).ok());
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(TurnsTest, TheFirstFailureInOrderCountsAndWhatIsBeforeItComes) {
  Turns turns;
  std::vector<bool> came(4);
  std::latch third_failed(1);
  const Status failure = RunParallel(4, 4, [&](std::size_t i) {
    if (i == 0) third_failed.wait();
    if (i == 2) third_failed.count_down();
    if (i == 1) return turns.End(i, NotFound("one"));
    if (i == 2) return turns.End(i, NotFound("two"));
    came[i] = turns.Await(i);
    return turns.End(i, Status::Ok());
  });
  EXPECT_EQ(failure.message(), "one");
  EXPECT_EQ(came, (std::vector<bool>{true, false, false, false}));
}

TEST(RunParallelTest, NothingToDo) {
  EXPECT_TRUE(RunParallel(0, 4, [](std::size_t) { return Internal("called"); }).ok());
}

}  // namespace
}  // namespace millrace::dfs
