// SPDX-License-Identifier: Apache-2.0
// Tests that the engine checks each decision: a wrong policy aborts a test and does not corrupt a cluster.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "schedulers/core/engine.h"
#include "schedulers/events/event_text.h"
#include "schedulers/policies/simple/fifo.h"

namespace millrace::sched {
namespace {

// A policy that decides what it is told, once.
class Wrong : public Fifo {
 public:
  explicit Wrong(Decision decision) : decision_(decision) {}
  [[nodiscard]] std::string_view name() const override { return "wrong"; }
  std::optional<Decision> Next(const ClusterState&, Micros) override { return std::exchange(decision_, std::nullopt); }

 private:
  std::optional<Decision> decision_;
};

void DecideWrongly(const Decision& decision) {
  Engine engine({.retry_pause = 0}, std::make_unique<Wrong>(decision));
  Effects effects;
  for (const char* line : {"0 NodeJoined node=n1 maps=1 reduces=1",
                           "0 NodeJoined node=n2 maps=1",
                           "0 NodeJoined node=n3 maps=1",
                           "0 NodeDrained node=n2",
                           "0 NodeLost node=n3",
                           "1 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1 reduces=1",
                           "1 AttemptLaunched attempt=job1.m.0.0 node=n1",
                           "1 AttemptSucceeded attempt=job1.m.0.0",
                           "1 JobSubmitted job=job2 maps=1:n1;1:n1 reduces=1",
                           "1 JobSubmitted job=job3",
                           "1 NodeJoined node=n4 maps=1",
                           "1 NodeJoined node=n5",
                           "1 NodeJoined node=n6",
                           "1 JobSubmitted job=job4 maps=1:n1",
                           "1 AttemptLaunched attempt=job4.m.0.0 node=n1",
                           "1 AttemptFailed attempt=job4.m.0.0",
                           "1 AttemptLaunched attempt=job4.m.0.1 node=n1",
                           "1 AttemptFailed attempt=job4.m.0.1",
                           "1 AttemptLaunched attempt=job4.m.0.2 node=n1",
                           "1 AttemptFailed attempt=job4.m.0.2",
                           "1 JobSubmitted job=job5 maps=1:n1",
                           "1 AttemptLaunched attempt=job5.m.0.0 node=n1",
                           "1 AttemptFailed attempt=job5.m.0.0"}) {
    const auto timed = ParseEvent(line);
    ASSERT_TRUE(timed && engine.Apply(timed->time, timed->event, &effects)) << line;
  }
  engine.Decide(2, &effects);
}

TEST(WrongPolicyDeathTest, AbortsWithTheDecision) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto map = [](std::uint32_t job, std::uint32_t index) { return TaskId{JobId{job}, TaskKind::kMap, index}; };
  const TaskId held{JobId{2}, TaskKind::kReduce, 0};
  DecideWrongly({map(1, 1), NodeId{1}});                                                             // right
  EXPECT_DEATH(DecideWrongly({map(1, 0), NodeId{1}}), "wrong: job1.m.0 on n1: it is not pending");   // done
  EXPECT_DEATH(DecideWrongly({map(1, 3), NodeId{1}}), "wrong: job1.m.3 on n1: it is not pending");   // no such task
  EXPECT_DEATH(DecideWrongly({map(3, 0), NodeId{1}}), "wrong: job3.m.0 on n1: no such job lives");   // ended
  EXPECT_DEATH(DecideWrongly({map(1, 1), NodeId{2}}), "job1.m.1 on n2: the node has no free slot");  // drained
  EXPECT_DEATH(DecideWrongly({map(1, 1), NodeId{3}}), "job1.m.1 on n3: the node has no free slot");  // lost
  EXPECT_DEATH(DecideWrongly({map(1, 1), NodeId{7}}), "job1.m.1 on n7: the node has no free slot");  // unknown
  EXPECT_DEATH(DecideWrongly({map(4, 0), NodeId{1}}), "job4.m.0 on n1: the job refuses the node");
  EXPECT_DEATH(DecideWrongly({map(5, 0), NodeId{1}}), "job5.m.0 on n1: an attempt of the task failed on the node");
  EXPECT_DEATH(DecideWrongly({held, NodeId{1}}), "job2.r.0 on n1: slow start holds the job's reduces back");
}

}  // namespace
}  // namespace millrace::sched
