// SPDX-License-Identifier: Apache-2.0
// What the lines of journals come to.
#include "client/ui/timeline.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "client/ui/timeline_json.h"

namespace millrace::ui {
namespace {

using testing::HasSubstr;

constexpr JobId kJob{3};
constexpr Micros kNow = 10'000'000;

class TimelineTest : public testing::Test {
 protected:
  void Of(JobId job, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) timeline_.Take(job, ++number_, line);
    timeline_.Settle();
  }
  void SetUp() override {
    Of(JobId{0}, {"1 NodeJoined node=n1 rack=r1 datacenter=d maps=2 reduces=1",
                  "1 NodeJoined node=n2 rack=r1 datacenter=d maps=2 reduces=1",
                  "1 NodeJoined node=n3 rack=r2 datacenter=d maps=2 reduces=1"});
    Of(kJob, {"1000000 JobSubmitted job=job3 name=a%20%3Cb%3E user=ann priority=NORMAL maps=64:n1;10:n1 reduces=1"});
  }
  [[nodiscard]] const AttemptTrack& At(std::size_t place) const { return timeline_.Find(kJob)->attempts.at(place); }
  [[nodiscard]] std::string LastWhy() const {
    return DecisionsDocument(timeline_, 1, true)[0]["why"].get<std::string>();
  }

  Timeline timeline_;
  std::uint64_t number_ = 0;
};

TEST_F(TimelineTest, AReduceCopiesWaitsAndComputes) {
  Of(kJob, {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1", "3000000 AttemptLaunched attempt=job3.m.1.0 node=n2",
            "4000000 AttemptSucceeded attempt=job3.m.0.0 input_bytes=64 output_bytes=30 cpu=500000",
            "4000000 AttemptLaunched attempt=job3.r.0.0 node=n3", "6000000 AttemptSucceeded attempt=job3.m.1.0",
            "7000000 ReduceCopied attempt=job3.r.0.0", "7500000 ComputeGranted attempt=job3.r.0.0",
            "9000000 AttemptSucceeded attempt=job3.r.0.0"});
  const JobTrack& job = *timeline_.Find(kJob);
  EXPECT_EQ(job.name, "a <b>");
  EXPECT_EQ(job.pool, "ann");
  EXPECT_EQ(job.running, 0U);
  const nlohmann::ordered_json summary = SummaryDocument(job, 20'000'000);
  const auto& time = summary["time"];
  EXPECT_EQ(time["waited_s"], 1.0);
  EXPECT_EQ(time["until_last_map_s"], 4.0);
  EXPECT_EQ(time["map_s"], 2.0 + 3.0);
  EXPECT_EQ(time["copy_s"], 3.0);
  EXPECT_EQ(time["wait_s"], 0.5);
  EXPECT_EQ(time["compute_s"], 1.5);
  EXPECT_EQ(time["wasted_s"], 0.0);
  EXPECT_EQ(time["slots_s"], 10.0);
  EXPECT_EQ(time["cpu_s"], 0.5);
  EXPECT_EQ(summary["maps"]["took"]["median_s"], 2.5);
  EXPECT_EQ(summary["maps"]["input_bytes"], 64U);
  EXPECT_EQ(summary["longest_reduces"][0]["attempt"], "job3.r.0.0");
  EXPECT_EQ(summary["nodes"][2]["reduce_median_s"], 5.0);
  EXPECT_EQ(summary["nodes"][2]["map_median_s"], nullptr);
}

TEST_F(TimelineTest, ASecondAttemptIsToldAndEndsWithTheFirstSuccess) {
  Of(kJob,
     {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1", "5000000 AttemptLaunched attempt=job3.m.0.1 node=n2"});
  EXPECT_FALSE(At(0).second);
  EXPECT_TRUE(At(1).second);
  EXPECT_THAT(LastWhy(), HasSubstr("attempt 0 on node 1"));
  Of(kJob, {"6000000 AttemptSucceeded attempt=job3.m.0.1"});
  EXPECT_EQ(At(0).state, AttemptState::kKilled);
  EXPECT_EQ(At(0).ended, 6'000'000);
  EXPECT_EQ(At(1).state, AttemptState::kSucceeded);
  EXPECT_EQ(SummaryDocument(*timeline_.Find(kJob), 7'000'000)["time"]["wasted_s"], 4.0);
}

TEST_F(TimelineTest, ReasonsOfLaunches) {
  Of(kJob, {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1"});
  EXPECT_EQ(LastWhy(), "its input is on the node");
  Of(kJob, {"2000000 AttemptLaunched attempt=job3.m.1.0 node=n2"});
  EXPECT_EQ(LastWhy(), "its input is in the node's rack");
  Of(kJob, {"3000000 AttemptFailed attempt=job3.m.1.0 reason=bad%20input",
            "4000000 AttemptLaunched attempt=job3.m.1.1 node=n3"});
  EXPECT_EQ(LastWhy(), "again: bad input");
  EXPECT_FALSE(At(2).second) << "the first has ended";
  Of(kJob, {"5000000 ReplicasMoved map=job3.m.1 replicas=n2", "5000000 AttemptSucceeded attempt=job3.m.0.0",
            "6000000 AttemptLaunched attempt=job3.r.0.0 node=n3"});
  EXPECT_EQ(LastWhy(), "1 of 2 maps were done");
}

TEST_F(TimelineTest, WhatRanOnALostNodeIsLost) {
  Of(kJob,
     {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1", "2000000 AttemptLaunched attempt=job3.m.1.0 node=n2"});
  Of(JobId{0}, {"3000000 NodeLost node=n1"});
  EXPECT_EQ(At(0).state, AttemptState::kLost);
  EXPECT_EQ(At(0).ended, 3'000'000);
  EXPECT_EQ(At(1).state, AttemptState::kRunning);
  // The node comes back, and what it runs then is not lost.
  Of(JobId{0}, {"4000000 NodeJoined node=n1 rack=r1 datacenter=d maps=2 reduces=1"});
  Of(kJob, {"5000000 AttemptLaunched attempt=job3.m.0.1 node=n1"});
  EXPECT_EQ(At(2).state, AttemptState::kRunning);
  EXPECT_FALSE(At(2).second);
}

TEST_F(TimelineTest, AJobThatIsHeldIsADecision) {
  Of(kJob, {"2000000 JobHeld job=job3 held=1"});
  EXPECT_EQ(LastWhy(), "none of its tasks starts until it is released");
  Of(kJob, {"3000000 JobHeld job=job3 held=0"});
  EXPECT_EQ(LastWhy(), "its tasks may start");
}

TEST_F(TimelineTest, NothingRunsOnceTheJobHasEnded) {
  Of(kJob, {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1", "2000000 AttemptLaunched attempt=job3.m.1.0 node=n1",
            "3000000 JobKilled job=job3 reason=enough"});
  EXPECT_EQ(At(0).state, AttemptState::kKilled);
  EXPECT_EQ(timeline_.Find(kJob)->ended, 3'000'000);
  EXPECT_EQ(LastWhy(), "enough");
  Of(JobId{4}, {"2000000 JobSubmitted job=job4 maps=1:n1", "2000000 AttemptLaunched attempt=job4.m.0.0 node=n1"});
  timeline_.End(JobId{4}, 9'000'000);
  EXPECT_EQ(timeline_.Find(JobId{4})->attempts[0].ended, 9'000'000);
}

TEST_F(TimelineTest, AnOutputThatIsGoneDoesNotUndoTheTimeOfItsMap) {
  Of(kJob, {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1", "3000000 AttemptSucceeded attempt=job3.m.0.0",
            "8000000 AttemptLost attempt=job3.m.0.0 reason=output%20lost"});
  EXPECT_EQ(At(0).state, AttemptState::kSucceeded);
  EXPECT_EQ(At(0).ended, 3'000'000);
}

TEST_F(TimelineTest, OnlyWhatHasChangedIsTold) {
  Of(kJob,
     {"2000000 AttemptLaunched attempt=job3.m.0.0 node=n1", "2000000 AttemptLaunched attempt=job3.m.1.0 node=n2"});
  nlohmann::ordered_json all = StreamDocument(timeline_, std::nullopt, 0, 0, kNow, 100);
  EXPECT_EQ(all["attempts"].size(), 2U);
  EXPECT_EQ(all["attempts"][0].size(), all["columns"].size());
  const auto version = all["version"].get<std::uint64_t>();
  EXPECT_EQ(StreamDocument(timeline_, std::nullopt, version, 0, kNow, 100)["attempts"].size(), 0U);
  Of(kJob, {"5000000 AttemptSucceeded attempt=job3.m.1.0"});
  const nlohmann::ordered_json changed = StreamDocument(timeline_, std::nullopt, version, 0, kNow, 100);
  ASSERT_EQ(changed["attempts"].size(), 1U);
  EXPECT_EQ(changed["attempts"][0][2], 1) << "map 1";
  EXPECT_EQ(changed["attempts"][0][8], 5.0) << "its end";
  EXPECT_EQ(StreamDocument(timeline_, JobId{9}, 0, 0, kNow, 100)["attempts"].size(), 0U);
  EXPECT_EQ(StreamDocument(timeline_, kJob, 0, 6'000'000, kNow, 100)["attempts"].size(), 1U)
      << "the other one ended before";
  const nlohmann::ordered_json cut = StreamDocument(timeline_, kJob, 0, 0, kNow, 1);
  EXPECT_EQ(cut["attempts"].size(), 1U);
  EXPECT_EQ(cut["left_out"], 1U);
  EXPECT_EQ(all["busy"], nullptr);
  // Of all attempts: from 2 s to 10 s one on node 1, and to 5 s one on node 2.
  const auto& busy = cut["busy"];
  EXPECT_EQ(busy["from_at"], 2.0);
  for (const auto& [place, slot_seconds] : {std::pair(0, 8.0), std::pair(1, 3.0)}) {
    double sum = 0;
    for (const auto& part : busy["nodes"][place]["maps"]) sum += part.get<double>() * busy["part_s"].get<double>();
    EXPECT_NEAR(sum, slot_seconds, 0.05);
    EXPECT_EQ(busy["nodes"][place]["reduces"].size(), 0U);
  }
}

TEST_F(TimelineTest, LinesThatMakeNoSenseAreLeftOut) {
  const std::uint64_t version = timeline_.version();
  Of(kJob, {"", "nonsense", "5 AttemptSucceeded attempt=job3.m.0.0", "5 AttemptLaunched attempt=job9.m.0.0 node=n1",
            "5 Unknown a=b", "5 ReplicasMoved map=job3.m.99 replicas=n1", "5 restart"});
  EXPECT_EQ(timeline_.version(), version);
  EXPECT_EQ(timeline_.Find(kJob)->attempts.size(), 0U);
  const std::uint64_t last = timeline_.LastLine(kJob);
  timeline_.Take(kJob, last, "5 AttemptLaunched attempt=job3.m.0.0 node=n1");
  EXPECT_EQ(timeline_.Find(kJob)->attempts.size(), 0U) << "this line came before";
  EXPECT_EQ(timeline_.LastLine(kJob), last);
}

TEST_F(TimelineTest, TheOldestEndedJobsMakeRoom) {
  for (std::uint32_t i = 10; i < 20; ++i) {
    const std::string job = "job" + std::to_string(i);
    Of(JobId{i}, {"1 JobSubmitted job=" + job + " maps=1:n1", "2 AttemptLaunched attempt=" + job + ".m.0.0 node=n1",
                  "3 AttemptSucceeded attempt=" + job + ".m.0.0"});
    if (i != 10) timeline_.End(JobId{i}, 4);
  }
  EXPECT_EQ(timeline_.size(), 10U);
  timeline_.Trim(3);
  EXPECT_EQ(timeline_.size(), 3U);
  EXPECT_NE(timeline_.Find(JobId{10}), nullptr) << "it has not ended";
  EXPECT_EQ(timeline_.Find(JobId{11}), nullptr);
  EXPECT_NE(timeline_.Find(JobId{19}), nullptr);
}

}  // namespace
}  // namespace millrace::ui
