// SPDX-License-Identifier: Apache-2.0
// Tests the numbers that task.memory_limit and the slots of a worker come to.
#include <gtest/gtest.h>

#include "worker/daemon/agent/worker_config.h"
#include "worker/daemon/process/machine_share.h"

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

// By hand: a task must be able to take 1 GiB (twice 256 MiB, and 512), and a tenth of the memory is set aside.
TEST(TaskSlotsTest, AMapForEachCoreAndHalfAsManyReducesAsFarAsThereIsMemory) {
  const TaskSlots both{kAuto, kAuto};
  const struct {
    TaskSlots asked;
    std::uint64_t cores, memory;
    TaskSlots slots;
  } rows[] = {
      {both, 1, 8 * kGiB, {1, 1}},
      {both, 2, 8 * kGiB, {2, 1}},
      {both, 3, 8 * kGiB, {3, 1}},
      {both, 4, 16 * kGiB, {4, 2}},
      {both, 64, 256 * kGiB, {64, 32}},
      {both, 64, 64 * kGiB, {38, 19}},      // 57 fit
      {both, 64, 8 * kGiB, {5, 2}},         // 7 fit
      {both, 16, 4 * kGiB, {2, 1}},         // 3 fit
      {both, 16, 2 * kGiB, {1, 1}},         // 1 fits
      {both, 16, 512 * kMiB, {1, 1}},       // none does
      {both, 16, 0, {16, 8}},               // nobody knows
      {both, 4096, 0, {1024, 512}},         // what a worker may have
      {{8, kAuto}, 4, 256 * kGiB, {8, 2}},  // by cores, whatever else was asked for
      {{kAuto, 5}, 4, 256 * kGiB, {4, 5}},
      {{0, kAuto}, 8, 256 * kGiB, {0, 4}},  // a worker without maps
      {{kAuto, 0}, 8, 256 * kGiB, {8, 0}},
      {{8, kAuto}, 8, 10 * kGiB, {8, 1}},  // 9 fit
      {{kAuto, 8}, 8, 10 * kGiB, {1, 8}},
      {{100, kAuto}, 8, 10 * kGiB, {100, 1}},  // what was asked for stays
      {{100, 100}, 1, kGiB, {100, 100}},
      {{0, 0}, 8, 16 * kGiB, {0, 0}},
  };
  for (const auto& row : rows) {
    const TaskSlots slots = ResolveSlots(row.asked, row.cores, row.memory, 256 * kMiB);
    EXPECT_EQ(slots, row.slots) << row.asked.maps << "+" << row.asked.reduces << " of " << row.cores << " cores, "
                                << row.memory << " B: " << slots.maps << "+" << slots.reduces;
  }
  EXPECT_EQ(ResolveSlots(both, 64, 256 * kGiB, 4 * kGiB), (TaskSlots{18, 9})) << "27 of 8.5 GiB fit";
}

// Whatever the machine: as many as fit, or one of each; never more than by cores.
TEST(TaskSlotsTest, NoSlotIsWithoutItsShare) {
  for (std::uint64_t cores = 1; cores <= 130; ++cores) {
    for (std::uint64_t memory = kGiB; memory <= 200 * kGiB; memory += 7 * kGiB) {
      const TaskSlots slots = ResolveSlots({kAuto, kAuto}, cores, memory, 256 * kMiB);
      const auto all = static_cast<std::uint64_t>(slots.maps + slots.reduces);
      EXPECT_TRUE(all == 2 || all * LeastShare(256 * kMiB) <= MemoryForTasks(memory)) << cores << ", " << memory;
      EXPECT_LE(slots.maps, static_cast<std::int64_t>(cores));
      EXPECT_LE(slots.reduces, std::max<std::int64_t>(1, static_cast<std::int64_t>(cores) / 2));
      EXPECT_LE(slots.reduces, slots.maps);
      EXPECT_GE(slots.reduces, 1);
    }
  }
}

TEST(TaskSlotsTest, AutoIsTheDefault) {
  WorkerConfig config;
  OptionSet options = DeclareWorkerOptions(&config);
  EXPECT_EQ(config.map_slots, kAuto);
  EXPECT_EQ(config.reduce_slots, kAuto);
  EXPECT_TRUE(options.Set("worker.map_slots", "3").ok());
  EXPECT_EQ(config.map_slots, 3);
  EXPECT_FALSE(options.Set("worker.map_slots", "-1").ok());
}

}  // namespace
}  // namespace millrace::worker
