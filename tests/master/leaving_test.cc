// SPDX-License-Identifier: Apache-2.0
// Tests what happens to attempts and map outputs on nodes that will leave.
#include <gmock/gmock.h>

#include <algorithm>

#include "master/jobs/output_moves.h"
#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(EndsInTimeTest, GoesByWhatIsDoneAndWhatIsLeft) {
  constexpr Micros kMinute = 60 * kSecond;
  EXPECT_TRUE(EndsInTime(kMinute, 0.5, 2 * kMinute)) << "another minute";
  EXPECT_FALSE(EndsInTime(kMinute, 0.25, 2 * kMinute)) << "another three";
  EXPECT_FALSE(EndsInTime(kMinute, 0.5, kMinute)) << "what it leaves has to be copied too";
  EXPECT_FALSE(EndsInTime(kMinute, 0.999, 3 * kSecond));
  EXPECT_TRUE(EndsInTime(kMinute, 1, 10 * kSecond));
}

TEST(EndsInTimeTest, OfWhichNothingIsKnownTakesTwiceAsLongAsItHasRun) {
  EXPECT_TRUE(EndsInTime(0, 0, 120 * kSecond));
  EXPECT_TRUE(EndsInTime(30 * kSecond, 0, 120 * kSecond));
  EXPECT_FALSE(EndsInTime(119 * kSecond, 0, 120 * kSecond));
  EXPECT_FALSE(EndsInTime(0, 0, 10 * kSecond)) << "it has hardly begun";
}

class LeavingTest : public TrackerFixture {
 protected:
  LaunchOrder Take() {
    EXPECT_THAT(launches, testing::Not(IsEmpty()));
    const LaunchOrder launch = launches.front();
    launches.erase(launches.begin());
    return launch;
  }
  void Foretell(NodeId node, bool leaves = true) {
    Step step = At();
    NodeRecord& record = *nodes->Find(node);
    record.leaving.reset();
    if (leaves) record.leaving = Leaving{0, "spot notice"};
    jobs->NodeTakesTasks(record.number, record.TakesTasks(), &step);
    Finish(std::move(step));
  }
  std::vector<OutputCopyOrder> Move(const std::set<NodeId>& leaving) {
    Step step = At();
    jobs->MoveOutputs(leaving, &step);
    const std::vector<OutputCopyOrder> copies = step.output_copies;
    Finish(std::move(step));
    return copies;
  }
  void Copied(const OutputCopyOrder& copy, const Status& status) {
    Step step = At();
    jobs->OutputCopied(copy, status, &step);
    Finish(std::move(step));
  }
};

TEST_F(LeavingTest, GetsNoTasksUntilItStaysAfterAll) {
  const NodeId a = AddWorker("a", 1, 0);
  AddFile("/in/text", 2, {a});
  Foretell(a);
  Submit(Request("/out", 0));
  EXPECT_THAT(launches, IsEmpty());
  Foretell(a, false);
  EXPECT_THAT(launches, SizeIs(1));
}

TEST_F(LeavingTest, ANewProcessOfTheMasterGoesByWhatTheWorkerSaysThen) {
  const NodeId a = AddWorker("a", 1, 0);
  AddFile("/in/text", 3, {a});
  Submit(Request("/out", 0));
  Foretell(a);
  launches.clear();
  Restart();
  Step step = At();
  NodeRecord& record = *nodes->Find(a);
  EXPECT_FALSE(record.leaving) << "it is not stored";
  record.alive = true;
  jobs->NodeRegistered(record, {}, &step);
  Finish(std::move(step));
  EXPECT_FALSE(jobs->cluster().FindNode(a)->drained);
  EXPECT_THAT(launches, SizeIs(1));
}

TEST_F(LeavingTest, AttemptsThatWillNotHaveEndedRunElsewhereAndHaveNotFailed) {
  const NodeId a = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {a});
  const JobId job = Submit(Request("/out", 0));
  const LaunchOrder first = Take();
  EXPECT_EQ(first.node, a);
  const NodeId b = AddWorker("b", 1, 0);
  Foretell(a);
  now += 300 * kSecond;
  Step soon = At();
  jobs->GiveUpLate(a, 400 * kSecond, &soon);
  Finish(std::move(soon));
  EXPECT_THAT(launches, IsEmpty()) << "it may still end";
  Step late = At();
  jobs->GiveUpLate(a, 100 * kSecond, &late);
  Finish(std::move(late));
  ASSERT_THAT(kills, SizeIs(1));
  EXPECT_EQ(kills[0].node, a);
  EXPECT_THAT(kills[0].reason, HasSubstr("leaves before"));
  const LaunchOrder second = Take();
  EXPECT_EQ(second.node, b);
  EXPECT_EQ(second.attempt.number, 1u);
  EXPECT_EQ(jobs->View(job)->figures.failed_attempts, 0u);
}

TEST_F(LeavingTest, OutputsAreCopiedToNodesThatStayAndServedFromThere) {
  const NodeId a = AddWorker("a", 2, 0), b = AddWorker("b", 0, 1);
  AddFile("/in/text", 2, {a});
  const JobId job = Submit(Request("/out", 1));
  Done(Take());
  Done(Take());
  const LaunchOrder reduce = Take();
  EXPECT_EQ(reduce.node, b);
  EXPECT_THAT(Move({}), IsEmpty());
  Foretell(a);
  EXPECT_EQ(jobs->OutputsLeftOn(a), 2u);
  const auto copies = Move({a});
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_THAT(Move({a}), IsEmpty()) << "they are under way";
  outputs.clear();
  for (const OutputCopyOrder& copy : copies) {
    EXPECT_EQ(copy.from, a);
    EXPECT_EQ(copy.to, b);
    Copied(copy, Status::Ok());
  }
  EXPECT_EQ(jobs->OutputsLeftOn(a), 0u);
  ASSERT_THAT(outputs, SizeIs(1)) << "the reduce's node is told";
  EXPECT_THAT(outputs.begin()->second.ready, ElementsAre(testing::Pair(copies[0].map, b)));
  // The node dies. Nothing runs again, also after a new start of the master.
  for (int process = 0; process < 2; ++process) {
    Step step = At();
    jobs->NodeLost(a, true, &step);
    Finish(std::move(step));
    EXPECT_THAT(launches, IsEmpty());
    EXPECT_EQ(jobs->OutputsLeftOn(b), 2u);
    Restart();
    EXPECT_EQ(jobs->OutputsLeftOn(b), 2u) << "the journal tells";
  }
  // The worker that has them claims them, and they are settled as if the maps had run there.
  Step step = At();
  const auto answer =
      jobs->NodeRegistered(*nodes->Find(b), {{reduce.attempt}, {}, {}, {copies[0].map, copies[1].map}}, &step);
  Finish(std::move(step));
  EXPECT_THAT(answer.killed, IsEmpty());
  ComeBack(b);
  Done(reduce, WriteOutput(reduce.attempt, "part-r-00000"));
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
  EXPECT_TRUE(std::ranges::any_of(forgets, [&](const ForgetOrder& order) { return order.node == b; }));
}

TEST_F(LeavingTest, AnOutputThatCannotBeCopiedIsTriedElsewhereAndThenLost) {
  const NodeId a = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {a});
  Submit(Request("/out", 1));
  Done(Take());
  const NodeId b = AddWorker("b", 1, 0), c = AddWorker("c", 0, 1);
  (void)Take();  // the reduce
  Foretell(a);
  std::set<NodeId> tried;
  for (unsigned i = 0; i < OutputMoves::kMostFailures; ++i) {
    const auto copies = Move({a});
    ASSERT_THAT(copies, SizeIs(1));
    tried.insert(copies[0].to);
    Copied(copies[0], Unavailable("no connection"));
  }
  EXPECT_THAT(tried, ElementsAre(b, c));
  EXPECT_THAT(Move({a}), IsEmpty());
  Step step = At();
  jobs->NodeLost(a, true, &step);
  Finish(std::move(step));
  EXPECT_EQ(Take().attempt.task.kind, TaskKind::kMap) << "the map runs again, as with any lost node";
}

TEST_F(LeavingTest, ACopyThatNobodyNeedsAnyMoreIsDropped) {
  const NodeId a = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {a});
  Submit(Request("/out", 1));
  Done(Take());
  const NodeId b = AddWorker("b", 1, 1);
  (void)Take();  // the reduce
  Foretell(a);
  const auto copies = Move({a});
  ASSERT_THAT(copies, SizeIs(1));
  Step lost = At();
  jobs->NodeLost(a, true, &lost);  // sooner than it had said
  Finish(std::move(lost));
  Done(Take());  // the second attempt, on the other node
  Copied(copies[0], Status::Ok());
  ASSERT_THAT(kills, SizeIs(1));
  EXPECT_EQ(kills[0].node, b);
  EXPECT_EQ(kills[0].attempt, copies[0].map);
}

// Otherwise the output would be counted on there when both nodes are gone.
TEST_F(LeavingTest, AnOutputThatArrivesWhereNothingStaysAnyMoreStaysWhereItWas) {
  const NodeId a = AddWorker("a", 1, 0), b = AddWorker("b", 0, 1);
  AddFile("/in/text", 1, {a});
  Submit(Request("/out", 1));
  Done(Take());
  Foretell(a);
  const auto copies = Move({a});
  ASSERT_THAT(copies, SizeIs(1));
  ASSERT_EQ(copies[0].to, b);
  const NodeId c = AddWorker("c", 0, 1);
  Foretell(b);
  kills.clear();
  Copied(copies[0], Status::Ok());
  EXPECT_EQ(jobs->OutputsLeftOn(a), 1u);
  EXPECT_EQ(jobs->OutputsLeftOn(b), 0u);
  EXPECT_THAT(kills, SizeIs(1)) << "the copy is dropped";
  const auto again = Move({a, b});
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].to, c);
}

// The end of such a copy may never be told, and must not be waited for.
TEST_F(LeavingTest, ACopyOfAnOutputThatAnotherAttemptHasMadeSinceTakesNoPlace) {
  const NodeId a = AddWorker("a", 2, 0), b = AddWorker("b", 0, 1);
  AddFile("/in/text", 2, {a});
  Submit(Request("/out", 1));
  Done(Take());
  Done(Take());
  (void)Take();  // the reduce
  Foretell(a);
  ASSERT_THAT(Move({a}), SizeIs(OutputMoves::kMostTo));
  const NodeId c = AddWorker("c", 2, 0);
  Step lost = At();
  jobs->NodeLost(a, true, &lost);
  Finish(std::move(lost));
  Done(Take());
  Done(Take());
  Foretell(c);
  const auto copies = Move({c});
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_EQ(copies[0].to, b);
  EXPECT_EQ(copies[0].map.number, 1u);
}

TEST_F(LeavingTest, AtMostAFewCopiesAreUnderWayToANodeAndALostOneIsForgotten) {
  const NodeId a = AddWorker("a", 5, 0), b = AddWorker("b", 0, 1);
  AddFile("/in/text", 5, {a});
  Submit(Request("/out", 1));
  for (int map = 0; map < 5; ++map) Done(Take());
  Foretell(a);
  EXPECT_THAT(Move({a}), SizeIs(OutputMoves::kMostTo));
  EXPECT_THAT(Move({a}), IsEmpty());
  Step lost = At();
  jobs->NodeLost(b, false, &lost);
  Finish(std::move(lost));
  EXPECT_THAT(Move({a}), IsEmpty()) << "nobody is there";
  const NodeId c = AddWorker("c", 0, 1);
  const auto copies = Move({a});
  ASSERT_THAT(copies, SizeIs(OutputMoves::kMostTo));
  for (const OutputCopyOrder& copy : copies) EXPECT_EQ(copy.to, c);
  EXPECT_THAT(Move({a, c}), IsEmpty()) << "who leaves takes none";
}

}  // namespace
}  // namespace millrace::master
