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

class MemoryLimitTest : public ::testing::Test {
 protected:
  Status Resolve(const std::string& limit) {
    MILLRACE_TRY(options_.Set("task.memory_limit", limit));
    return ResolveMemoryLimit(100 * kGiB, &config_);
  }
  WorkerConfig config_;
  OptionSet options_ = DeclareWorkerOptions(&config_);
};

TEST_F(MemoryLimitTest, ByDefaultTheTaskLimitsItself) {
  ASSERT_TRUE(ResolveMemoryLimit(100 * kGiB, &config_).ok());
  EXPECT_EQ(config_.task_memory_bound, 0u);
  EXPECT_EQ(config_.task_memory_share, 90 * kGiB / 4) << "2 slots of each kind";
}

TEST_F(MemoryLimitTest, AnExplicitOneBindsBeforeTheProgramBegins) {
  ASSERT_TRUE(Resolve("2GiB").ok());
  EXPECT_EQ(config_.task_memory_bound, 2 * kGiB);
  EXPECT_EQ(config_.task_memory_share, 0u);
  ASSERT_TRUE(Resolve("0").ok());
  EXPECT_EQ(config_.task_memory_bound, 0u);
  EXPECT_EQ(config_.task_memory_share, 0u);
}

TEST_F(MemoryLimitTest, NonsenseIsRefusedByName) {
  const Status refused = Resolve("plenty");
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_NE(refused.message().find("task.memory_limit"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace millrace::worker
