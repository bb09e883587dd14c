// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::shuffle {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Micros kBackOff = 100 * kMillisecond;

Source At(std::uint32_t map, std::uint32_t number, const std::string& host) {
  return {MapAttemptId(JobId{1}, map, number), host, 1, false};
}

class FetchScheduleTest : public testing::Test {
 protected:
  std::vector<AttemptId> Batch(const std::string& host, std::size_t most = 64) {
    std::vector<AttemptId> attempts;
    for (const Ticket& ticket : schedule_.NextBatch({host, 1}, most)) attempts.push_back(ticket.map);
    return attempts;
  }
  Ticket One(const std::string& host) { return schedule_.NextBatch({host, 1}, 1).at(0); }

  FetchSchedule schedule_{0, 8, 3, kBackOff};
  FetchSchedule::Time now_;
};

TEST_F(FetchScheduleTest, VisitsPlacesInTurnsAndOneAtATime) {
  for (const char* host : {"a", "b", "c"})
    EXPECT_TRUE(schedule_.Announce(At(static_cast<std::uint32_t>(*host - 'a'), 0, host)));
  EXPECT_EQ(schedule_.VisitNext()->host, "a");
  EXPECT_EQ(schedule_.VisitNext()->host, "b");
  EXPECT_EQ(schedule_.VisitNext()->host, "c");
  EXPECT_FALSE(schedule_.VisitNext().has_value());
  schedule_.Leave({"a", 1});
  EXPECT_EQ(schedule_.VisitNext()->host, "a");
}

TEST_F(FetchScheduleTest, ReducesBeginAtDifferentPlaces) {
  FetchSchedule other(1, 8, 3, kBackOff);
  for (FetchSchedule* schedule : {&schedule_, &other}) {
    schedule->Announce(At(0, 0, "a"));
    schedule->Announce(At(1, 0, "b"));
  }
  EXPECT_EQ(schedule_.VisitNext()->host, "a");
  EXPECT_EQ(other.VisitNext()->host, "b");
}

TEST_F(FetchScheduleTest, BatchesAreBoundedAndHoldEachOutputOnce) {
  for (std::uint32_t map = 0; map < 5; ++map) schedule_.Announce(At(map, 0, "a"));
  EXPECT_FALSE(schedule_.Announce(At(0, 0, "a")));  // waits
  EXPECT_FALSE(schedule_.Announce(At(8, 0, "a")));  // there is no such map
  EXPECT_THAT(Batch("a", 3),
              ElementsAre(MapAttemptId(JobId{1}, 0, 0), MapAttemptId(JobId{1}, 1, 0), MapAttemptId(JobId{1}, 2, 0)));
  EXPECT_FALSE(schedule_.Announce(At(0, 0, "a")));  // is being fetched
  EXPECT_THAT(Batch("a"), ElementsAre(MapAttemptId(JobId{1}, 3, 0), MapAttemptId(JobId{1}, 4, 0)));
  EXPECT_THAT(Batch("a"), IsEmpty());
}

TEST_F(FetchScheduleTest, RestsTwiceAsLongAfterEachFailureAndIsDoubtedThen) {
  schedule_.Announce(At(0, 0, "a"));
  EXPECT_FALSE(schedule_.Fail(One("a"), false, now_));
  EXPECT_EQ(*schedule_.next_wake(), now_ + milliseconds(100));
  EXPECT_THAT(schedule_.Wake(now_ + milliseconds(99)), IsEmpty());
  EXPECT_THAT(Batch("a"), IsEmpty());
  EXPECT_THAT(schedule_.Wake(now_ + milliseconds(100)), IsEmpty());
  EXPECT_FALSE(schedule_.Fail(One("a"), false, now_));
  EXPECT_EQ(*schedule_.next_wake(), now_ + milliseconds(200));
  (void)schedule_.Wake(now_ + milliseconds(200));
  EXPECT_TRUE(schedule_.Fail(One("a"), false, now_));
  EXPECT_TRUE(schedule_.Announce(At(0, 0, "a")));  // again: it starts again
  EXPECT_FALSE(schedule_.Fail(One("a"), false, now_));
}

TEST_F(FetchScheduleTest, DoubtsAtOnceWhatIsNotThere) {
  schedule_.Announce(At(0, 0, "a"));
  EXPECT_TRUE(schedule_.Fail(One("a"), true, now_));
}

// The reduce that waits for the output may be the only one left, so it must be heard again.
TEST_F(FetchScheduleTest, WhatIsDoubtedIsTriedAndToldAgainAndAgainAfterLongerRests) {
  schedule_.Announce(At(0, 0, "a"));
  EXPECT_TRUE(schedule_.Fail(One("a"), true, now_));
  for (const int rest : {400, 800, 1600}) {
    ASSERT_TRUE(schedule_.next_wake().has_value());
    EXPECT_EQ(*schedule_.next_wake(), now_ + milliseconds(rest));
    now_ += milliseconds(rest);
    (void)schedule_.Wake(now_);
    EXPECT_TRUE(schedule_.Fail(One("a"), true, now_));
  }
}

TEST_F(FetchScheduleTest, ALocalOutputThatIsMissingIsLookedUpAgain) {
  const Source local{MapAttemptId(JobId{1}, 2, 0), "here", 1, true};
  EXPECT_TRUE(schedule_.Announce(local));
  EXPECT_TRUE(schedule_.Miss(local.map, now_));
  EXPECT_FALSE(schedule_.Miss(local.map, now_)) << "it rests";
  EXPECT_THAT(schedule_.Wake(now_ + milliseconds(399)), IsEmpty());
  const std::vector<Source> again = schedule_.Wake(now_ + milliseconds(400));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].map, local.map);
  EXPECT_TRUE(schedule_.Miss(local.map, now_ + milliseconds(400)));
  schedule_.Withdraw(local.map);
  EXPECT_THAT(schedule_.Wake(now_ + std::chrono::hours(1)), IsEmpty());
}

TEST_F(FetchScheduleTest, AnotherAttemptReplacesOneThatIsUnderWay) {
  schedule_.Announce(At(0, 0, "a"));
  const Ticket old = One("a");
  EXPECT_TRUE(schedule_.Announce(At(0, 1, "b")));
  EXPECT_FALSE(schedule_.Fail(old, true, now_));  // stale
  schedule_.PutBack(old);
  EXPECT_THAT(Batch("a"), IsEmpty());
  EXPECT_THAT(Batch("b"), ElementsAre(MapAttemptId(JobId{1}, 0, 1)));
}

TEST_F(FetchScheduleTest, WhatIsGoneIsNotAskedForAndWhatIsCopiedStays) {
  schedule_.Announce(At(0, 0, "a"));
  schedule_.Announce(At(1, 0, "a"));
  schedule_.Withdraw(MapAttemptId(JobId{1}, 0, 0));
  schedule_.Withdraw(MapAttemptId(JobId{1}, 1, 5));  // another attempt than the one that is known
  EXPECT_THAT(Batch("a"), ElementsAre(MapAttemptId(JobId{1}, 1, 0)));
  EXPECT_TRUE(schedule_.Keep({1, "file", {}}));
  EXPECT_FALSE(schedule_.Keep({1, "other", {}}));
  schedule_.Withdraw(MapAttemptId(JobId{1}, 1, 0));
  EXPECT_EQ(schedule_.copied(), 1u);
  EXPECT_FALSE(schedule_.Announce(At(1, 1, "b")));
}

TEST_F(FetchScheduleTest, WhatIsLeftOutIsNotWaitedForAndWhatIsCopiedStays) {
  schedule_.Announce(At(0, 0, "a"));
  const Ticket under_way = One("a");
  EXPECT_TRUE(schedule_.Keep({1, "file", {}}));
  for (const std::uint32_t map : {0u, 0u, 1u, 2u, 99u}) schedule_.LeaveOut(map);
  schedule_.PutBack(under_way);
  EXPECT_FALSE(schedule_.Fail(under_way, true, now_));
  EXPECT_FALSE(schedule_.Keep({0, "file", {}})) << "it comes too late";
  EXPECT_FALSE(schedule_.Announce(At(0, 1, "b")));
  EXPECT_FALSE(schedule_.Wants({"a", 1}));
  EXPECT_EQ(schedule_.copied(), 1u);
  for (const std::uint32_t map : {3u, 4u, 5u, 6u}) schedule_.LeaveOut(map);
  EXPECT_FALSE(schedule_.complete());
  schedule_.Keep({7, "file", {}});
  ASSERT_TRUE(schedule_.complete());
  const auto segments = schedule_.TakeSegments();
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].map, 1u);
  EXPECT_EQ(segments[1].map, 7u);
}

TEST_F(FetchScheduleTest, GivesSegmentsByMapWhenAllAreThere) {
  for (const std::uint32_t map : {3u, 0u, 7u, 1u, 2u, 6u, 5u}) schedule_.Keep({map, "file", {}});
  EXPECT_FALSE(schedule_.complete());
  schedule_.Keep({4, "file", {}});
  ASSERT_TRUE(schedule_.complete());
  const auto segments = schedule_.TakeSegments();
  for (std::uint32_t map = 0; map < 8; ++map) EXPECT_EQ(segments[map].map, map);
}

}  // namespace
}  // namespace millrace::shuffle
