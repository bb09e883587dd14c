// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/room_watch.h"

#include <gmock/gmock.h>

namespace millrace::master {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(RoomWatchTest, TheReserveIsForWhatRunsAndItsLastQuarterForNobody) {
  const struct {
    std::uint64_t free_mib, needed_mib;
    Writing expected;
  } kStory[] = {
      {1000, 0, Writing::kAll},   {64, 0, Writing::kAll},      {63, 0, Writing::kReserve}, {16, 0, Writing::kReserve},
      {15, 0, Writing::kNothing}, {20, 0, Writing::kNothing},  {24, 0, Writing::kReserve}, {64, 0, Writing::kReserve},
      {71, 0, Writing::kReserve}, {72, 0, Writing::kAll},      {64, 0, Writing::kAll},     {0, 0, Writing::kNothing},
      {72, 0, Writing::kAll},     {79, 80, Writing::kNothing}, {80, 80, Writing::kAll},
  };
  RoomWatch watch("/m", 64 * kMiB);
  EXPECT_EQ(watch.writing(), Writing::kAll) << "as long as nobody looked";
  for (const auto& [free_mib, needed_mib, expected] : kStory) {
    EXPECT_EQ(watch.Look({free_mib * kMiB, needed_mib * kMiB}), expected) << free_mib << " MiB free";
    EXPECT_EQ(watch.writing(), expected);
  }
}

TEST(RoomWatchTest, WithoutAReserveOnlyWhatTheDatabaseNeedsIsKept) {
  RoomWatch watch("/m", 0);
  EXPECT_EQ(watch.Look({0, 0}), Writing::kAll);
  EXPECT_EQ(watch.Look({10, 11}), Writing::kNothing);
  EXPECT_EQ(watch.Look({11, 11}), Writing::kAll);
}

TEST(RoomWatchTest, TheLineSaysWhereHowMuchAndWhatIsWanted) {
  RoomWatch watch("/var/millrace", 64 * kMiB);
  watch.Look({12 * kMiB, 0});
  EXPECT_THAT(watch.Line(), HasSubstr("the master's disk is full: /var/millrace has 12"));
  EXPECT_THAT(watch.Line(), HasSubstr("wants 72 MiB (master.reserved_bytes, and an eighth)"));
  EXPECT_THAT(watch.Line(), HasSubstr("read-only until there is room again"));
  watch.Look({12 * kMiB, 80 * kMiB});
  EXPECT_THAT(watch.Line(), HasSubstr("wants 80 MiB (to open its database for writing)"));
}

}  // namespace
}  // namespace millrace::master
