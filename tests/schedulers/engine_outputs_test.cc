// SPDX-License-Identifier: Apache-2.0
// Tests map outputs that become ready, are lost with a node or because fetches fail, and replicas that move.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Outputs : public testing::Test {
 protected:
  std::string Ready(std::uint32_t job) const {
    std::string text;
    for (const MapOutputReady& ready : engine_.ReadyOutputs(JobId{job})) text += FormatEffect(ready) + '\n';
    return text;
  }

  Engine engine_{{}, std::make_unique<Fifo>()};
};

// Sets up two maps on n1 and n2, and a reduce that runs on n3.
constexpr char kTwoMapsOneReduce[] = R"(
  0 NodeJoined node=n1 maps=1
  0 NodeJoined node=n2 maps=1
  0 NodeJoined node=n3 reduces=1
  1 JobSubmitted job=job1 maps=1:n1;1:n2 reduces=1
  1 decide
  -> launch job1.m.0.0 n1 node
  -> launch job1.m.1.0 n2 node
  2 AttemptSucceeded attempt=job1.m.1.0
  -> ready job1.m.1.0 n2
  2 AttemptSucceeded attempt=job1.m.0.0
  -> ready job1.m.0.0 n1
  2 decide
  -> launch job1.r.0.0 n3
)";

TEST_F(Outputs, TheReadyOnesAreListedByMap) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_EQ(Ready(1), "ready job1.m.0.0 n1\nready job1.m.1.0 n2\n");
  EXPECT_EQ(Ready(2), "");
}

TEST_F(Outputs, OutputsLostWithTheirNodeRunAgainWhileTheReduceGoesOn) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 NodeLost node=n1
    -> gone job1.m.0.0 n1
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->maps_done, 1U);
  EXPECT_EQ(engine_.Progress(JobId{1})->reduces_running, 1U);
  EXPECT_EQ(Ready(1), "ready job1.m.1.0 n2\n");
  EXPECT_PLAYS(&engine_, R"(
    3 decide
    -> launch job1.m.0.1 n2 off
    4 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n2
    # Now both are on n2; a node that joins under a living id was lost first.
    5 NodeJoined node=n2 maps=2
    -> gone job1.m.0.1 n2
    -> gone job1.m.1.0 n2
    5 decide
    -> launch job1.m.1.1 n2 node
    -> launch job1.m.0.2 n2 off
    6 AttemptSucceeded attempt=job1.m.0.2
    -> ready job1.m.0.2 n2
    # The reduce had fetched all it needed before: the job is over.
    6 AttemptSucceeded attempt=job1.r.0.0
    -> kill job1.m.1.1 n2: the job has succeeded
    -> ended job1 succeeded
    7 NodeLost node=n2
  )");
}

TEST_F(Outputs, AnOutputThatMovedIsThatOfItsNewNode) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 NodeDrained node=n1
    3 OutputMoved attempt=job1.m.0.0 to=n2
    -> ready job1.m.0.0 n2
    4 NodeLost node=n1
    4 decide
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->maps_done, 2U) << "nothing was lost with the old node";
  EXPECT_EQ(Ready(1), "ready job1.m.0.0 n2\nready job1.m.1.0 n2\n");
  EXPECT_PLAYS(&engine_, R"(
    5 NodeLost node=n2
    -> gone job1.m.0.0 n2
    -> gone job1.m.1.0 n2
  )");
}

TEST_F(Outputs, OnlyAnOutputThatReducesFetchMovesAndOnlyToALiveNode) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 OutputMoved attempt=job1.m.0.1 to=n2
    -> refused
    3 OutputMoved attempt=job1.m.0.0 to=n1
    -> refused
    3 OutputMoved attempt=job1.m.0.0 to=n9
    -> refused
    3 OutputMoved attempt=job1.r.0.0 to=n2
    -> refused
    3 OutputMoved attempt=job2.m.0.0 to=n2
    -> refused
    4 NodeLost node=n1
    -> gone job1.m.0.0 n1
    4 OutputMoved attempt=job1.m.0.0 to=n2
    -> refused
  )");
}

TEST_F(Outputs, OutputsOfAMapOnlyJobAreCommittedAndNeverLost) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.0
    3 NodeLost node=n1
    3 NodeJoined node=n2 maps=2
    3 decide
    -> launch job1.m.1.0 n2 off
    4 AttemptSucceeded attempt=job1.m.1.0
    -> ended job1 succeeded
  )");
}

TEST_F(Outputs, FewerMapsDoneThanSlowStartHoldReducesAgain) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 reduces=1 slow_start=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 NodeLost node=n1
    -> gone job1.m.0.0 n1
    4 NodeJoined node=n2 reduces=1
    4 decide
    5 NodeJoined node=n1 maps=1
    5 decide
    -> launch job1.m.0.1 n1 node
    6 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n1
    6 decide
    -> launch job1.r.0.0 n2
  )");
}

TEST_F(Outputs, OneRunningReduceIsEnoughToGiveAnOutputUp) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    3 decide
    -> launch job1.m.0.1 n2 rack
    # Reports about an attempt that is no longer the task's output mean nothing.
    4 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> refused
    5 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n2
    5 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> refused
    5 FetchFailed reduce=job1.r.0.1 map_attempt=job1.m.0.1
    -> refused
    5 FetchFailed reduce=job1.m.0.0 map_attempt=job1.m.0.1
    -> refused
    5 FetchFailed reduce=job1.r.0.0 map_attempt=job1.r.0.0
    -> refused
    5 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.7.0
    -> refused
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->failed_attempts, 0U);
}

TEST_F(Outputs, ThreeReducesMustReportEachCountedOnce) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=5
    1 JobSubmitted job=job1 maps=1:n1 reduces=5
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job1.r.2.0 n1
    -> launch job1.r.3.0 n1
    -> launch job1.r.4.0 n1
    3 FetchFailed reduce=job1.r.4.0 map_attempt=job1.m.0.0
    4 FetchFailed reduce=job1.r.1.0 map_attempt=job1.m.0.0
    # Another attempt of a reduce that has reported is not another reduce.
    5 AttemptFailed attempt=job1.r.1.0
    5 decide
    -> launch job1.r.1.1 n1
    6 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    6 decide
    -> launch job1.m.0.1 n1 node
    7 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n1
    # The new output has a clean record.
    8 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.1
    8 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.1
    8 FetchFailed reduce=job1.r.3.0 map_attempt=job1.m.0.1
    -> gone job1.m.0.1 n1
  )");
}

// Sets up the outputs of three maps and `reduces` reduces, all of which copy.
std::string ReducesThatCopy(std::uint32_t reduces) {
  std::string script =
      "0 NodeJoined node=n1 maps=1 reduces=9\n 1 JobSubmitted job=job1 maps=1:n1 reduces=" + std::to_string(reduces) +
      "\n 1 decide\n -> launch job1.m.0.0 n1 node\n 2 AttemptSucceeded attempt=job1.m.0.0\n"
      "-> ready job1.m.0.0 n1\n 2 decide\n";
  for (std::uint32_t r = 0; r < reduces; ++r) script += "-> launch job1.r." + std::to_string(r) + ".0 n1\n";
  return script;
}

TEST_F(Outputs, ReducesThatComputeDoNotCountAmongThoseThatMustReport) {
  EXPECT_PLAYS(&engine_, ReducesThatCopy(4));
  EXPECT_PLAYS(&engine_, R"(
    3 ReduceComputing attempt=job1.r.1.0
    3 ReduceComputing attempt=job1.r.2.0
    3 ReduceComputing attempt=job1.r.3.0
    4 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
  )");
}

TEST_F(Outputs, ReportsAreWeighedAgainWhenAReduceLeavesItsCopyPhase) {
  EXPECT_PLAYS(&engine_, ReducesThatCopy(3));
  EXPECT_PLAYS(&engine_, R"(
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    4 ReduceComputing attempt=job1.r.1.0
    5 ReduceComputing attempt=job1.r.2.0
    -> gone job1.m.0.0 n1
  )");
}

TEST_F(Outputs, ReportsAreWeighedAgainWhenAReduceEnds) {
  EXPECT_PLAYS(&engine_, ReducesThatCopy(4));
  EXPECT_PLAYS(&engine_, R"(
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    4 AttemptSucceeded attempt=job1.r.1.0
    5 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.0
    # Two have reported, and the third that may lack it ends.
    6 AttemptSucceeded attempt=job1.r.3.0
    -> gone job1.m.0.0 n1
  )");
}

TEST_F(Outputs, ReportsAreWeighedAgainWhenAReduceFailsOrIsLost) {
  EXPECT_PLAYS(&engine_, ReducesThatCopy(3));
  EXPECT_PLAYS(&engine_, R"(
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    4 AttemptFailed attempt=job1.r.1.0
    5 AttemptLost attempt=job1.r.2.0
    -> gone job1.m.0.0 n1
  )");
}

TEST_F(Outputs, TheSecondWordOfAReduceIsEnough) {
  EXPECT_PLAYS(&engine_, ReducesThatCopy(4));
  EXPECT_PLAYS(&engine_, R"(
    3 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.0 report=1
    9 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.0 report=3
    -> gone job1.m.0.0 n1
  )");
}

TEST_F(Outputs, AReportThatIsSentAgainIsNoSecondWord) {
  EXPECT_PLAYS(&engine_, ReducesThatCopy(4));
  EXPECT_PLAYS(&engine_, R"(
    3 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.0 report=2
    9 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.0 report=2
    9 FetchFailed reduce=job1.r.2.0 map_attempt=job1.m.0.0 report=1
    # Another attempt of the reduce has numbers of its own.
    10 AttemptLost attempt=job1.r.2.0
    10 decide
    -> launch job1.r.2.1 n1
    11 FetchFailed reduce=job1.r.2.1 map_attempt=job1.m.0.0 report=1
    -> gone job1.m.0.0 n1
  )");
}

TEST_F(Outputs, AnOutputThatItsLivingNodeDoesNotHaveRunsAgainAndNobodyIsToBlame) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 AttemptLost attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    3 AttemptLost attempt=job1.m.0.0
    -> refused
    3 decide
    -> launch job1.m.0.1 n1 node
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->killed_attempts, 0U);
}

TEST_F(Outputs, AReduceReportsOnMapsOfItsOwnJobOnly) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 JobSubmitted job=job2 maps=1:n1 reduces=1
    3 decide
    -> launch job2.m.0.0 n1 node
    4 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    5 FetchFailed reduce=job1.r.0.0 map_attempt=job2.m.0.0
    -> refused
  )");
}

TEST_F(Outputs, AnOutputThatMovedIsNotLostWithItsOldNode) {
  EXPECT_PLAYS(&engine_, kTwoMapsOneReduce);
  EXPECT_PLAYS(&engine_, R"(
    3 NodeDrained node=n1
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    3 decide
    -> launch job1.m.0.1 n2 rack
    4 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n2
    5 NodeLost node=n1
    6 NodeLost node=n2
    -> gone job1.m.0.1 n2
    -> gone job1.m.1.0 n2
  )");
}

// The list of a node's outputs is pruned as it grows: outputs that are needed stay, and others do not pile up.
TEST_F(Outputs, ANodeKeepsAllOutputsOfUseAndFewOthers) {
  const auto apply = [this](const Event& event) {
    Effects effects;
    EXPECT_TRUE(engine_.Apply(1, event, &effects));
    return effects;
  };
  apply(NodeJoined{NodeId{1}, "", "", {300, 1}});
  apply(NodeJoined{NodeId{2}, "", "", {0, 300}});
  const auto run_maps = [&](JobId job, std::uint32_t maps) {
    JobSpec spec;
    spec.maps.resize(maps);
    spec.reduces = 1;
    apply(JobSubmitted{job, spec});
    Effects launched;
    engine_.Decide(1, &launched);
    for (std::uint32_t i = maps; i > 0; --i) apply(AttemptSucceeded{{{job, TaskKind::kMap, i - 1}, 0}});
  };
  run_maps(JobId{0}, 300);
  for (std::uint32_t job = 1; job <= 1000; ++job) {
    run_maps(JobId{job}, 5);
    apply(JobKilled{JobId{job}, ""});
  }
  EXPECT_LE(engine_.state().FindNode(NodeId{1})->outputs.size(), 600U);
  const Effects effects = apply(NodeLost{NodeId{1}});
  ASSERT_EQ(effects.size(), 300U);
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(FormatEffect(effects[i]), "gone job0.m." + std::to_string(i) + ".0 n1");
  }
}

TEST_F(Outputs, FetchFailuresCountAgainstTheNodeButNotTheTask) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 reduces=1
    0 NodeJoined node=n3
    0 NodeJoined node=n4
    0 NodeJoined node=n5
    1 JobSubmitted job=job1 maps=1:n1 reduces=1 max_attempts=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.r.0.0 n2
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    3 decide
    -> launch job1.m.0.1 n1 node
    4 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n1
    5 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.1
    -> gone job1.m.0.1 n1
    5 decide
    -> launch job1.m.0.2 n1 node
    6 AttemptSucceeded attempt=job1.m.0.2
    -> ready job1.m.0.2 n1
    7 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.2
    -> gone job1.m.0.2 n1
    -> blame n1 by job1 until 600000007
    7 decide
    8 NodeJoined node=n3 maps=1
    8 decide
    -> launch job1.m.0.3 n3 rack
  )");
}

TEST_F(Outputs, MovedReplicasCountAtOnce) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=b maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1;1:n9
    2 ReplicasMoved map=job1.m.0 replicas=n2
    2 ReplicasMoved map=job1.m.2 replicas=n1,n2
    2 decide
    -> launch job1.m.0.0 n2 node
    -> launch job1.m.1.0 n1 node
    3 AttemptLost attempt=job1.m.1.0
    3 AttemptLost attempt=job1.m.0.0
    3 ReplicasMoved map=job1.m.1
    3 decide
    -> launch job1.m.0.1 n2 node
    -> launch job1.m.2.0 n1 node
  )");
}

}  // namespace
}  // namespace millrace::sched
