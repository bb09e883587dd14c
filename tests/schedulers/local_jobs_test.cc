// The lists of jobs by node are made when somebody asks for them, whenever that is.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/policies/fifo.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

// CheckState asks, and compares with a search through all pending maps.
TEST(LocalJobs, AreWhatASearchFindsWheneverTheFirstQuestionComes) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    History history(base + round);
    for (unsigned step = 0; step < 10 * (round % 20); ++step) history.Step();
    for (int step = 0; step < 50 && !HasFailure(); ++step) {
      history.CheckState();
      history.Step();
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(LocalJobs, AreRightWhenNobodyAskedForAWhile) {
  Engine engine({}, std::make_unique<Fifo>());
  const auto jobs_at = [&](std::uint32_t node) {
    std::vector<std::uint32_t> ids;
    for (const QueueKey& key : engine.state().LocalJobs(NodeId{node})) ids.push_back(key.job.value);
    return ids;
  };
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n2
    0 JobSubmitted job=job2 maps=1:n1)");
  EXPECT_EQ(jobs_at(1), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(engine.state().MoreLocalJobsThan(NodeId{1}, 1));
  EXPECT_FALSE(engine.state().MoreLocalJobsThan(NodeId{1}, 2));
  engine.SetPolicy(std::make_unique<Fifo>());
  (void)Play(&engine, R"(
    1 decide
    2 NodeJoined node=n2 maps=1
    3 JobSubmitted job=job3 maps=1:n2,n1)");
  EXPECT_EQ(jobs_at(1), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(jobs_at(2), (std::vector<std::uint32_t>{1, 3}));
}

}  // namespace
}  // namespace millrace::sched
