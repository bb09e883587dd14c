// What task.memory_limit comes to.
#include <gtest/gtest.h>

#include "worker/daemon/agent/worker_config.h"
#include "worker/daemon/process/memory_share.h"

namespace millrace::worker {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(MemoryShareTest, EachSlotHasAnEqualShareOfWhatIsNotSetAside) {
  EXPECT_EQ(MemoryShare(100 * kGiB, 9, 256 * kMiB), 10 * kGiB);
  EXPECT_EQ(MemoryShare(100 * kGiB, 0, 256 * kMiB), 90 * kGiB);
}

TEST(MemoryShareTest, ItIsNeverLessThanATaskNeeds) {
  EXPECT_EQ(MemoryShare(1 * kGiB, 4, 256 * kMiB), 1 * kGiB);
  EXPECT_EQ(MemoryShare(100 * kMiB, 4, 256 * kMiB), 1 * kGiB);
  EXPECT_EQ(MemoryShare(16 * kGiB, 8, 4 * kGiB), 8 * kGiB + 512 * kMiB);
}

TEST(MemoryShareTest, ThereIsNoneOfMemoryThatIsNotKnown) { EXPECT_EQ(MemoryShare(0, 4, kGiB), 0u); }

TEST(MemoryLimitTest, ByDefaultTheTaskLimitsItself) {
  WorkerConfig config;
  (void)DeclareWorkerOptions(&config);
  const Result<MemoryLimits> limits = ReadMemoryLimit(config.task_memory_limit, 3 * kGiB);
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  EXPECT_EQ(limits->bound, 0u);
  EXPECT_EQ(limits->share, 3 * kGiB);
}

TEST(MemoryLimitTest, AnExplicitOneBindsBeforeTheProgramBegins) {
  EXPECT_EQ(ReadMemoryLimit("2GiB", 3 * kGiB)->bound, 2 * kGiB);
  EXPECT_EQ(ReadMemoryLimit("2GiB", 3 * kGiB)->share, 0u);
  EXPECT_EQ(ReadMemoryLimit("0", 3 * kGiB)->bound, 0u);
  EXPECT_EQ(ReadMemoryLimit("0", 3 * kGiB)->share, 0u);
}

TEST(MemoryLimitTest, NonsenseIsRefusedByName) {
  const Status refused = ReadMemoryLimit("plenty", 3 * kGiB).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_NE(refused.message().find("task.memory_limit"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace millrace::worker
