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

TEST(RunParallelTest, NothingToDo) {
  EXPECT_TRUE(RunParallel(0, 4, [](std::size_t) { return Internal("called"); }).ok());
}

}  // namespace
}  // namespace millrace::dfs
