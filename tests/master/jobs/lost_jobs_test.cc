// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/lost_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Micros kBackup = 1'769'860'800 * kSecond;  // 2026-01-31 12:00:00
constexpr Micros kRestored = kBackup + 2 * kHour;

class LostJobsTest : public testing::Test {
 protected:
  void Keep(WriteBatch batch) { ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok()); }
  void Open(LostJobs& jobs, std::uint64_t first, std::uint64_t end) {
    WriteBatch batch;
    jobs.Open({first, end, DoubtCause::kRestored, kBackup, kRestored}, &batch);
    Keep(std::move(batch));
  }
  void Note(LostJobs& jobs, std::uint32_t job) {
    WriteBatch batch;
    jobs.Note(JobId{job}, "worker 3 had attempts of it", "count", "ann", kRestored, &batch);
    Keep(std::move(batch));
  }
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
};

TEST(NumberAfterGap, IsBeyondAMillionNumbersAndOneForEachSecond) {
  EXPECT_EQ(NumberAfterGap(17, kBackup, kBackup), 1'000'017u);
  EXPECT_EQ(NumberAfterGap(17, kBackup, kBackup + kHour), 1'000'017u + 3'600u);
  EXPECT_EQ(NumberAfterGap(17, 0, kBackup), 1'000'017u) << "the time of the backup is not known";
  EXPECT_EQ(NumberAfterGap(17, kBackup, kBackup - kHour), 1'000'017u) << "the clock was set back";
}

// What a restored master has given does not meet the numbers of a later restoration of the same backup.
TEST(NumberAfterGap, SeparatesTheRestorationsOfOneBackup) {
  const std::uint64_t first = NumberAfterGap(17, kBackup, kRestored);
  for (const Micros later : {kSecond, kHour, 30 * 24 * kHour}) {
    const std::uint64_t jobs_between = static_cast<std::uint64_t>(later / kSecond) * LostJobs::kNumbersEachSecond;
    EXPECT_GE(NumberAfterGap(17, kBackup, kRestored + later), first + jobs_between) << later;
  }
}

TEST(NumberAfterGap, NeverExceedsTheNumbersThatThereAre) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t next = 1;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t after = NumberAfterGap(next, 1, std::numeric_limits<Micros>::max() / 2);
    EXPECT_GE(after, next);
    EXPECT_LE(after, kLast);
    next = after;
  }
}

TEST_F(LostJobsTest, KnowsTheNumbersOfItsGaps) {
  LostJobs jobs;
  Open(jobs, 5, 1000);
  Open(jobs, 1003, 2000);
  EXPECT_EQ(jobs.GapOf(JobId{4}), nullptr);
  EXPECT_NE(jobs.GapOf(JobId{5}), nullptr);
  EXPECT_NE(jobs.GapOf(JobId{999}), nullptr);
  EXPECT_EQ(jobs.GapOf(JobId{1000}), nullptr);
  EXPECT_NE(jobs.GapOf(JobId{1003}), nullptr);
}

TEST_F(LostJobsTest, SaysWhyAJobIsNotKnown) {
  LostJobs jobs;
  EXPECT_EQ(std::string(jobs.Missing(JobId{7}).message()), "job7: no such job; `millrace job list` shows them");
  Open(jobs, 5, 1000);
  const Status missing = jobs.Missing(JobId{7});
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("after the backup of 2026-01-31 12:00:00 UTC, from which the database was restored (at "
                        "2026-01-31 14:00:00 UTC), and it is lost"));
  EXPECT_THAT(std::string(jobs.Missing(JobId{2000}).message()), HasSubstr("no such job"));
}

TEST_F(LostJobsTest, RemembersJobsOfItsGapsOnly) {
  LostJobs jobs;
  Open(jobs, 5, 1000);
  Note(jobs, 4);
  EXPECT_EQ(jobs.Find(JobId{4}), nullptr);
  Note(jobs, 8);
  Note(jobs, 6);
  ASSERT_NE(jobs.Find(JobId{6}), nullptr);
  const JobRecord& record = *jobs.Find(JobId{6});
  EXPECT_EQ(record.request.owner, "ann");
  EXPECT_EQ(record.request.name, "count");
  ASSERT_TRUE(record.outcome.has_value());
  EXPECT_THAT(record.outcome->reason, HasSubstr("it was submitted after the backup of 2026-01-31 12:00:00 UTC"));
  EXPECT_THAT(record.outcome->reason, HasSubstr("(worker 3 had attempts of it)"));
  EXPECT_THAT(jobs.After(JobId{0}, 10), ElementsAre(JobId{6}, JobId{8}));
  EXPECT_THAT(jobs.After(JobId{6}, 10), ElementsAre(JobId{8}));
  EXPECT_THAT(jobs.After(JobId{0}, 1), ElementsAre(JobId{6}));
}

TEST_F(LostJobsTest, IsTheSameAfterARestart) {
  LostJobs jobs;
  Open(jobs, 5, 1000);
  Note(jobs, 6);
  LostJobs again;
  ASSERT_TRUE(again.Load(*store_).ok());
  ASSERT_NE(again.GapOf(JobId{5}), nullptr);
  EXPECT_EQ(*again.GapOf(JobId{5}), *jobs.GapOf(JobId{5}));
  ASSERT_NE(again.Find(JobId{6}), nullptr);
  EXPECT_EQ(again.Find(JobId{6})->outcome->reason, jobs.Find(JobId{6})->outcome->reason);
  EXPECT_EQ(again.Find(JobId{6})->ended, kRestored);
}

TEST_F(LostJobsTest, KeepsTheLastOnes) {
  LostJobs jobs;
  Open(jobs, 1, 1'000'000);
  for (std::uint32_t job = 1; job <= LostJobs::kMostLost + 5; ++job) Note(jobs, job);
  EXPECT_EQ(jobs.After(JobId{0}, 10'000).size(), LostJobs::kMostLost);
  EXPECT_EQ(jobs.Find(JobId{5}), nullptr);
  LostJobs again;
  ASSERT_TRUE(again.Load(*store_).ok());
  EXPECT_EQ(again.After(JobId{0}, 10'000), jobs.After(JobId{0}, 10'000));
}

TEST_F(LostJobsTest, ADamagedRecordIsRefused) {
  for (const char* key : {"gaps", "l/12345678"}) {
    const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
    WriteBatch batch;
    batch.Put(key, "\x07");
    ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
    LostJobs jobs;
    EXPECT_EQ(jobs.Load(*store).code(), StatusCode::kCorrupt) << key;
  }
}

TEST(ReadSubmission, TakesALineOfEitherFormat) {
  const auto text = ReadSubmission(
      R"(2026-01-31T12:00:00.000Z allowed client:ann 10.0.0.7 submit job17, "my \"count\"" to pool "default")");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->job, JobId{17});
  EXPECT_EQ(text->user, "ann");
  EXPECT_EQ(text->time, "2026-01-31T12:00:00.000Z");
  EXPECT_EQ(text->name, R"(my \"count\")");
  const auto json = ReadSubmission(
      R"({"time":"2026-01-31T12:00:00.000Z","outcome":"allowed","role":"client","user":"bob","address":"-","call":)"
      R"("submit","on":"job18, \"count\" to pool \"default\""})");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->job, JobId{18});
  EXPECT_EQ(json->user, "bob");
  EXPECT_EQ(json->name, "count");
}

TEST(ReadSubmission, TakesNoOtherLine) {
  for (const char* line :
       {"", "{", "{}", "2026 allowed client:ann - kill job3",
        "2026 denied client:ann - submit job3, \"a\" to pool \"b\"",
        "2026 failed client:ann - submit \"a\" to pool \"b\"",
        "2026 allowed client:ann - submit job, \"a\" to pool \"b\"",
        "2026 allowed client:ann - submit job99999999999, \"a\" to pool \"b\"", "2026 allowed client:ann - submit job3",
        "2026 allowed client:ann - submit job3, \" to pool ", R"({"outcome":"allowed","call":"submit","on":"jobx"})"}) {
    EXPECT_FALSE(ReadSubmission(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace millrace::master
