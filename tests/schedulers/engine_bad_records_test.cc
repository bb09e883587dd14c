// SPDX-License-Identifier: Apache-2.0
// Tests the records that the maps of a job leave out (JobSpec::skip_bad_records).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class BadRecordsTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<RecordPlace> LeftOutBy(std::uint32_t number) const {
    const JobState& job = *engine_.state().FindJob(JobId{1});
    return job.bad_records.contains(0) ? job.bad_records.at(0).LeftOutBy(number) : std::vector<RecordPlace>();
  }
  [[nodiscard]] std::uint32_t LeftOut() const { return engine_.Progress(JobId{1})->records_left_out; }

  Engine engine_{{}, std::make_unique<Fifo>()};
};

TEST_F(BadRecordsTest, TwoFailuresAtARecordLeaveItOutAndCostNoAttempt) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=1 skip_bad_records=2
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    2 decide
    -> launch job1.m.0.1 n1 node
  )");
  EXPECT_EQ(LeftOutBy(1), std::vector<RecordPlace>());
  EXPECT_PLAYS(&engine_, R"(
    3 AttemptFailed attempt=job1.m.0.1 reason=a record=0:40:0
    3 decide
    -> launch job1.m.0.2 n1 node
  )");
  EXPECT_EQ(LeftOutBy(1), std::vector<RecordPlace>()) << "it was launched before";
  EXPECT_EQ(LeftOutBy(2), (std::vector<RecordPlace>{{0, 40, 0}}));
  EXPECT_PLAYS(&engine_, R"(
    4 AttemptFailed attempt=job1.m.0.2 reason=a record=1:8:0
    4 decide
    -> launch job1.m.0.3 n1 node
    5 AttemptFailed attempt=job1.m.0.3 reason=a record=1:8:0
    5 decide
    -> launch job1.m.0.4 n1 node
  )");
  EXPECT_EQ(LeftOutBy(4), (std::vector<RecordPlace>{{0, 40, 0}, {1, 8, 0}}));
  EXPECT_PLAYS(&engine_, R"(
    6 AttemptSucceeded attempt=job1.m.0.4
    -> ended job1 succeeded
  )");
  EXPECT_EQ(LeftOut(), 2U) << "it is known when the job has ended";
  EXPECT_EQ(LeftOutBy(4).size(), 2U);
}

TEST_F(BadRecordsTest, OneMoreThanMayBeFailsAsEver) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=2 skip_bad_records=1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
    3 AttemptFailed attempt=job1.m.0.1 reason=a record=0:40:0
    3 AttemptLaunched attempt=job1.m.0.2 node=n1
    4 AttemptFailed attempt=job1.m.0.2 reason=b record=0:50:0
    4 AttemptLaunched attempt=job1.m.0.3 node=n1
    5 AttemptFailed attempt=job1.m.0.3 reason=b record=0:50:0
    -> ended job1 failed: task job1.m.0 failed 4 times (1 of its records are left out, and no more than 1 may be), the last time: b
  )");
}

TEST_F(BadRecordsTest, WithoutTheOptionAPlaceMeansNothing) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=2
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
    3 AttemptFailed attempt=job1.m.0.1 reason=a record=0:40:0
    -> ended job1 failed: task job1.m.0 failed 2 times, the last time: a
  )");
}

TEST_F(BadRecordsTest, FailuresElsewhereCountAsEver) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=2 skip_bad_records=5
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
    3 AttemptFailed attempt=job1.m.0.1 reason=disk
    3 AttemptLaunched attempt=job1.m.0.2 node=n1
    4 AttemptFailed attempt=job1.m.0.2 reason=a record=0:40:0
    4 AttemptLaunched attempt=job1.m.0.3 node=n1
    5 AttemptFailed attempt=job1.m.0.3 reason=disk
    -> ended job1 failed: task job1.m.0 failed 4 times (1 of its records are left out, and no more than 5 may be), the last time: disk
  )");
}

// It ran beside the attempt whose failure was the second.
TEST_F(BadRecordsTest, ATwinThatWasNotToldIsForgivenAndOneThatWasIsNot) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=3
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=1 skip_bad_records=1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    1 AttemptLaunched attempt=job1.m.0.1 node=n1
    1 AttemptLaunched attempt=job1.m.0.2 node=n1
    2 AttemptFailed attempt=job1.m.0.1 reason=a record=0:40:0
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    3 AttemptFailed attempt=job1.m.0.2 reason=a record=0:40:0
    3 AttemptLaunched attempt=job1.m.0.3 node=n1
    4 AttemptFailed attempt=job1.m.0.3 reason=a record=0:40:0
    -> ended job1 failed: task job1.m.0 failed 4 times (1 of its records are left out, and no more than 1 may be), the last time: a
  )");
}

TEST_F(BadRecordsTest, ABadRecordDoesNotTurnANodeBad) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 skip_bad_records=1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
    3 AttemptFailed attempt=job1.m.0.1 reason=a record=0:40:0
  )");
  EXPECT_EQ(engine_.state().FindJob(JobId{1})->node_failures.at(NodeId{1}).failures, 1U)
      << "the first may be the node's fault";
}

TEST_F(BadRecordsTest, AMapThatIsLeftOutLeavesNoRecordsOut) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=1 max_failed_maps=50 skip_bad_records=1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptFailed attempt=job1.m.0.0 reason=a record=0:40:0
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
    3 AttemptFailed attempt=job1.m.0.1 reason=a record=0:40:0
    3 AttemptLaunched attempt=job1.m.0.2 node=n1
    4 AttemptFailed attempt=job1.m.0.2 reason=b
    -> left out job1.m.0: task job1.m.0 failed 3 times (1 of its records are left out, and no more than 1 may be), the last time: b
  )");
  EXPECT_EQ(LeftOut(), 0U);
}

// A map ends, whatever its attempts say: each failure either counts or is one of a bounded number that do not.
TEST(BadRecordsProperty, AttemptsAreBoundedAndBadRecordsAreFoundInTwiceTheirNumber) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 source(seed);
  const auto random = [&] { return static_cast<std::uint32_t>(source()); };
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t most = 1 + random() % 6, max_attempts = 1 + random() % 4;
    BadRecords liar;  // fails anywhere, also where it was to leave records out
    std::uint32_t failed = 0;
    for (; failed - liar.forgiven() < max_attempts; ++failed) {
      ASSERT_LE(failed, 2 * most + max_attempts);
      liar.Fail({0, random() % 8, 0}, failed, failed + 1, most);
      ASSERT_LE(liar.left_out(), most);
    }

    std::set<RecordPlace> bad;
    while (bad.size() < most) bad.insert({random() % 3, random() % 1000, random() % 2});
    BadRecords honest;
    std::uint32_t launched = 0;
    while (true) {
      const std::vector<RecordPlace> left_out = honest.LeftOutBy(launched++);
      const auto fails = std::find_if(bad.begin(), bad.end(), [&](const RecordPlace& record) {
        return !std::binary_search(left_out.begin(), left_out.end(), record);
      });
      if (fails == bad.end()) break;
      honest.Fail(*fails, launched - 1, launched, most);
      ASSERT_EQ(launched - honest.forgiven(), 0U) << "not one of them counts";
    }
    EXPECT_EQ(launched, 2 * most + 1);
  }
}

}  // namespace
}  // namespace millrace::sched
