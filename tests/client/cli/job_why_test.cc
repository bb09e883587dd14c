// SPDX-License-Identifier: Apache-2.0
// What would help a job, in words.
#include "client/cli/job_why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using Kind = job::TriedChange::Kind;

constexpr Micros kNoon = 1'790'000'000 * kSecond / kHour / 24 * kHour * 24 + 12 * kHour;

// job9 starts in an hour and ends in two.
job::Why Asked() {
  job::Why why;
  why.made = kNoon;
  why.job = {JobId{9}, kNoon + kHour, kNoon + 2 * kHour, "", ""};
  return why;
}

job::TriedChange Priority(Micros start, Micros end) {
  job::TriedChange change;
  change.kind = Kind::kPriority;
  change.name = "HIGH";
  change.job = {JobId{9}, start, end, "", ""};
  return change;
}

TEST(JobWhy, TellsTheGainAndThePrice) {
  job::Why why = Asked();
  why.ahead = {{JobId{3}, kNoon - kHour, kNoon + kHour, "", ""}, {JobId{4}, kNoon - kHour, std::nullopt, "", "so"}};
  why.ahead_count = 5;
  job::TriedChange change = Priority(kNoon + 10 * kMinute, kNoon + kHour);
  change.later = {{JobId{3}, 20 * kMinute}, {JobId{5}, kMinute}};
  change.later_count = 2;
  change.later_sum = 21 * kMinute;
  change.unknown = 1;
  why.tried.push_back(change);
  job::TriedChange node = Priority(kNoon + kHour, kNoon + 2 * kHour);
  node.kind = Kind::kNode;
  node.name = "";
  node.map_slots = 2, node.reduce_slots = 1;
  why.tried.push_back(node);
  job::TriedChange none;
  none.kind = Kind::kScheduler;
  none.name = "none";
  none.untried = "there is none";
  why.tried.push_back(none);
  EXPECT_EQ(
      WhyText(why),
      "  ahead of it: job3 (done 13:00), job4 (its end is unknown) and 3 more\n"
      "  played forward, starts 13:00, is done 14:00 (UTC); `millrace job status` corrects such times by how far off "
      "earlier ones were\n"
      "  what would help:\n"
      "    priority HIGH: starts 50 min earlier, is done 1 h earlier; job3 is done 20 min later, job5 1 min (of 1 "
      "other that is unknown)\n"
      "  would not end it earlier: one node more (2 map slots, 1 reduce slot)\n"
      "  not tried: scheduler none, since there is none\n");
}

TEST(JobWhy, WhatEndsLaterDoesNotHelpEvenIfItStartsEarlier) {
  const job::Why why = Asked();
  EXPECT_EQ(Helps(why, Priority(kNoon, kNoon + 3 * kHour)), false);
  EXPECT_EQ(Helps(why, Priority(kNoon + 2 * kHour, kNoon + kHour)), true);
}

TEST(JobWhy, SaysWhatAChangeDoesInsteadOfHelping) {
  job::Why why = Asked();
  why.tried.push_back(Priority(kNoon, kNoon + 3 * kHour));
  job::TriedChange pool = Priority(kNoon + 50 * kMinute, kNoon + 2 * kHour);
  pool.kind = Kind::kPool;
  pool.name = "web";
  why.tried.push_back(pool);
  job::TriedChange node = Priority(kNoon + kHour, 0);
  node.kind = Kind::kNode;
  node.job.end = std::nullopt;
  why.tried.push_back(node);
  EXPECT_THAT(WhyText(why),
              testing::EndsWith("\n  would not end it earlier: priority HIGH (starts 1 h earlier, is done 1 h later), "
                                "--pool web (starts 10 min earlier)\n"
                                "  would not start it earlier: one node more\n"));
}

TEST(JobWhy, TellsPrioritiesOfTheSameEffectOnce) {
  job::Why why = Asked();
  job::TriedChange change = Priority(kNoon, kNoon + kHour);
  why.tried.push_back(change);
  change.name = "VERY_HIGH";
  why.tried.push_back(change);
  EXPECT_THAT(WhyText(why),
              testing::EndsWith("what would help:\n    priority HIGH (no more with VERY_HIGH): starts 1 h "
                                "earlier, is done 1 h earlier; no other job ends later\n"));
  why.tried[0].name = "NORMAL";
  change.name = "HIGH";
  why.tried.insert(why.tried.begin() + 1, change);
  EXPECT_THAT(WhyText(why), testing::HasSubstr("priority NORMAL (no more with HIGH, VERY_HIGH): "));
  // Another price is another effect.
  why.tried[2].later = {{JobId{3}, kMinute}};
  why.tried[2].later_count = 1;
  why.tried[2].later_sum = kMinute;
  EXPECT_THAT(WhyText(why), testing::HasSubstr("priority NORMAL (no more with HIGH): "));
  EXPECT_THAT(WhyText(why),
              testing::HasSubstr("    priority VERY_HIGH: starts 1 h earlier, is done 1 h earlier; job3 is "
                                 "done 1 min later\n"));
}

TEST(JobWhy, SaysThatItDoesNotKnow) {
  job::Why why = Asked();
  why.job.end = std::nullopt;
  why.job.why_no_end = "so";
  job::TriedChange change = Priority(kNoon + kMinute, 0);
  change.job.end = std::nullopt;
  EXPECT_EQ(Helps(why, change), true) << "it starts earlier";
  why.job.start = change.job.start = std::nullopt;
  why.job.why_no_start = "it is so";
  EXPECT_EQ(Helps(why, change), std::nullopt);
  why.tried.push_back(change);
  EXPECT_EQ(WhyText(why),
            "  played forward, its start is unknown: it is so, its end is unknown: so (UTC)\n"
            "  nobody knows whether these would help: priority HIGH\n");
  change.job.start = kNoon + kHour;
  EXPECT_EQ(Helps(why, change), true) << "it would start at all";
  why.problem = "it is held";
  EXPECT_EQ(WhyText(why), "  what would help cannot be tried: it is held\n");
}

}  // namespace
}  // namespace millrace::cli
