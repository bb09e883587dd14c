// SPDX-License-Identifier: Apache-2.0
// Tests which inputs of a job's maps outlive it, how they are stored, and that they are there across restarts of the
// master until the job is forgotten.
#include <gmock/gmock.h>

#include "master/jobs/job_table.h"
#include "tests/master/tracker_fixture.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttemptRecord Record(TaskKind kind, std::uint32_t task, std::uint32_t number, AttemptState state) {
  AttemptRecord record;
  record.attempt = {{JobId{1}, kind, task}, number};
  record.state = state;
  return record;
}

std::vector<MapSplits> SplitsOf(std::size_t maps, std::size_t each) {
  std::vector<MapSplits> splits(maps);
  for (std::size_t map = 0; map < maps; ++map) {
    splits[map].resize(each);
    splits[map][0].path = "/in/" + std::to_string(map);
  }
  return splits;
}

std::vector<std::uint32_t> Numbers(const FailedMaps& maps) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [map, splits] : maps) numbers.push_back(map);
  return numbers;
}

TEST(FailedMapsTest, OnlyMapsThatFailedAreKept) {
  const std::vector<AttemptRecord> attempts{
      Record(TaskKind::kMap, 0, 0, AttemptState::kSucceeded), Record(TaskKind::kMap, 1, 0, AttemptState::kFailed),
      Record(TaskKind::kMap, 1, 1, AttemptState::kSucceeded), Record(TaskKind::kMap, 2, 0, AttemptState::kLost),
      Record(TaskKind::kMap, 3, 0, AttemptState::kKilled),    Record(TaskKind::kReduce, 4, 0, AttemptState::kFailed)};
  const FailedMaps kept = FailedMapsOf(attempts, SplitsOf(5, 1));
  EXPECT_THAT(Numbers(kept), ElementsAre(1));
  EXPECT_EQ(kept.at(1).at(0).path, "/in/1");
}

TEST(FailedMapsTest, OfManyThoseThatFailedMostAreKept) {
  constexpr std::uint32_t kMaps = kMostFailedMaps + 20;
  std::vector<AttemptRecord> attempts;
  for (std::uint32_t map = 0; map < kMaps; ++map)
    attempts.push_back(Record(TaskKind::kMap, map, 0, AttemptState::kFailed));
  attempts.push_back(Record(TaskKind::kMap, kMaps - 1, 1, AttemptState::kFailed));
  std::vector<std::uint32_t> kept = Numbers(FailedMapsOf(attempts, SplitsOf(kMaps, 1)));
  EXPECT_EQ(kept.size(), kMostFailedMaps);
  EXPECT_EQ(kept.back(), kMaps - 1) << "the map that failed the job";
  EXPECT_EQ(kept[kMostFailedMaps - 2], kMostFailedMaps - 2) << "then the first ones";
  EXPECT_EQ(FailedMapsOf(attempts, SplitsOf(kMaps, kMostFailedSplits / 4)).size(), 4u);
  EXPECT_EQ(FailedMapsOf(attempts, SplitsOf(kMaps, kMostFailedSplits + 1)).size(), 1u) << "always one";
}

TEST(FailedMapsTest, TheyRoundTripAndNoPrefixDecodes) {
  FailedMaps maps;
  maps[7] = SplitsOf(1, 2)[0];
  maps[300] = SplitsOf(2, 1)[1];
  const std::string bytes = EncodeFailedMaps(maps);
  const Result<FailedMaps> read = DecodeFailedMaps(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(Numbers(*read), ElementsAre(7, 300));
  EXPECT_EQ(read->at(300).at(0).path, "/in/1");
  EXPECT_EQ(EncodeFailedMaps(*read), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeFailedMaps(std::string_view(bytes).substr(0, size)).ok()) << size;
}

class KeptInputTest : public TrackerFixture {
 protected:
  // Runs a job whose map 1 of 2 fails until the job fails. Returns the job.
  JobId FailAJob(const std::string& output) {
    const JobId job = Submit(Request(output, 1));
    while (!launches.empty()) {
      const LaunchOrder launch = launches.front();
      launches.erase(launches.begin());
      if (launch.attempt.task.reduce()) continue;
      if (launch.attempt.task.index == 1) {
        Fail(launch, "threw an exception");
      } else {
        Done(launch);
      }
      now += 30 * kSecond;
      Finish(At());
    }
    EXPECT_EQ(jobs->View(job)->state, JobState::kFailed);
    return job;
  }
};

TEST_F(KeptInputTest, TheInputOfAFailedMapOutlivesTheJobAndTheProcess) {
  AddFile("/in/text", 2, {AddWorker("a", 1, 1)});
  const JobId job = FailAJob("/out");
  const AttemptId failed{{job, TaskKind::kMap, 1}, 0}, succeeded{{job, TaskKind::kMap, 0}, 0};
  for (int process = 0; process < 2; ++process) {
    const Result<MapSplits> input = jobs->InputOfMap(failed);
    ASSERT_TRUE(input.ok()) << input.status().message();
    ASSERT_EQ(input->size(), 1u);
    EXPECT_EQ((*input)[0].path, "/in/text");
    EXPECT_EQ((*input)[0].offset, std::uint64_t{1} << 20);
    EXPECT_EQ((*input)[0].blocks.size(), 1u);
    EXPECT_EQ(jobs->InputOfMap(succeeded).status().code(), StatusCode::kNotFound);
    EXPECT_THAT(jobs->InputOfMap({failed.task, 9}).status().message(), HasSubstr("no such attempt"));
    EXPECT_EQ(jobs->InputOfMap({{job, TaskKind::kReduce, 0}, 0}).status().code(), StatusCode::kInvalid);
    EXPECT_EQ(jobs->InputOfMap({{JobId{77}, TaskKind::kMap, 0}, 0}).status().code(), StatusCode::kNotFound);
    Restart();
  }
}

TEST_F(KeptInputTest, AnyMapOfALiveJobHasItsInput) {
  AddFile("/in/text", 2, {AddWorker("a", 1, 1)});
  Submit(Request("/out", 1));
  ASSERT_FALSE(launches.empty());
  EXPECT_TRUE(jobs->InputOfMap(launches[0].attempt).ok());
}

TEST_F(KeptInputTest, ItIsForgottenWithTheJob) {
  AddFile("/in/text", 2, {AddWorker("a", 1, 1)});
  const JobId job = FailAJob("/out");
  EXPECT_TRUE(store->Get(FailedMapsKey(job))->has_value());
  for (int i = 0; i < 101; ++i) {
    Submit(Request("/out" + std::to_string(i), 0));
    while (!launches.empty()) {
      const LaunchOrder launch = launches.front();
      launches.erase(launches.begin());
      Done(launch);
    }
  }
  EXPECT_FALSE(jobs->View(job).ok());
  EXPECT_FALSE(store->Get(FailedMapsKey(job))->has_value());
}

}  // namespace
}  // namespace millrace::master
