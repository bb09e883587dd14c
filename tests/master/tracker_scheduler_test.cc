// SPDX-License-Identifier: Apache-2.0
// Tests what the job tracker does for schedulers: who is told what, and what the journal keeps.
#include <gmock/gmock.h>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/event_text.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/settings_file.h"
#include "schedulers/policies/simple/edf.h"
#include "tests/master/tracker_fixture.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TrackerSchedulerTest : public TrackerFixture {
 protected:
  // Returns the journal's lines about the job (0: about nodes and schedulers) that contain `word`.
  std::vector<std::string> Lines(JobId job, const std::string& word) {
    std::vector<std::string> lines;
    EXPECT_TRUE(store
                    ->Scan("e/" + KeyNumber(job.value), {},
                           [&](std::string_view, std::string_view line) {
                             if (line.find(word) != std::string_view::npos) lines.emplace_back(line);
                             return true;
                           })
                    .ok());
    return lines;
  }
  void SetScheduler(const sched::SchedulerSet& next) {
    Step step = At();
    jobs->SetScheduler(next, &step);
    Finish(std::move(step));
  }
  // The master's periodic work.
  void NoteMovedReplicas() {
    Step step = At();
    jobs->NoteMovedReplicas(&step);
    Finish(std::move(step));
  }
  dfs::Block BlockOf(JobId job, std::uint32_t map) { return (*jobs->Splits(job))[map].front().blocks.front(); }
  LaunchOrder Take() {
    EXPECT_FALSE(launches.empty());
    const LaunchOrder first = launches.front();
    launches.erase(launches.begin());
    return first;
  }
};

TEST_F(TrackerSchedulerTest, WhatCrossesTheNetworkIsWhatReducesElsewhereTake) {
  const NodeId alone = AddWorker("a", 1, 2);
  EXPECT_EQ(jobs->CrossingShare(alone), 0);
  const NodeId other = AddWorker("b", 1, 5), mapper = AddWorker("c", 1, 0);
  const NodeId fourth = AddWorker("d", 1, 1);
  EXPECT_DOUBLE_EQ(jobs->CrossingShare(alone), 0.75);
  EXPECT_DOUBLE_EQ(jobs->CrossingShare(other), 0.375);
  EXPECT_DOUBLE_EQ(jobs->CrossingShare(fourth), 0.875);
  EXPECT_DOUBLE_EQ(jobs->CrossingShare(mapper), 1);
  EXPECT_EQ(jobs->CrossingShare(77_n), 0) << "nothing is known of it";
}

TEST_F(TrackerSchedulerTest, AJobThatNamesAQueueThatIsNotIsRefusedAndLeavesNothing) {
  SetScheduler({"capacity", "[queues.ads]\ncapacity = 40\n"});
  AddFile("/in/text", 1, {AddWorker("a", 1, 1)});
  JobRequest request = Request("/out", 1);
  request.pool = "adds";
  Step step = At();
  const Result<JobId> refused = jobs->Submit(request, &step);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(),
              HasSubstr("capacity has no queue called \"adds\"; there is: \"ads\", \"default\"; name one of these"));
  Finish(std::move(step));
  EXPECT_THAT(Lines(JobId{1}, "JobSubmitted"), IsEmpty());
  request.pool = "ads";
  const JobId job = Submit(request);
  // What came before other settings goes on, in the queue of its user or the default one.
  SetScheduler({"capacity", "[queues.other]\ncapacity = 40\n"});
  EXPECT_TRUE(jobs->cluster().FindJob(job)->alive());
  Restart();
  EXPECT_TRUE(jobs->cluster().FindJob(job)->alive());
}

TEST_F(TrackerSchedulerTest, WhatTheUserSaysReachesTheEngine) {
  AddFile("/in/text", 1, {AddWorker("a", 1, 1)});
  JobRequest request = Request("/out", 1);
  request.pool = "ads";
  request.priority = 1;
  request.deadline = 600 * kSecond;
  request.map_time = 3 * kSecond;
  request.reduce_time = 4 * kSecond;
  request.locality_waits = {0, 5 * kSecond};
  request.no_speculation = true;
  request.executable.path = "/.millrace/executables/abc123";
  const JobId job = Submit(request);
  const sched::JobSpec spec = jobs->cluster().FindJob(job)->spec;
  EXPECT_EQ(spec.user, "tester");
  EXPECT_EQ(spec.pool, "ads");
  EXPECT_EQ(spec.priority, sched::Priority::kHigh);
  EXPECT_EQ(spec.deadline, jobs->View(job)->record->submitted + 600 * kSecond);
  EXPECT_EQ(spec.map_time, 3 * kSecond);
  EXPECT_EQ(spec.reduce_time, 4 * kSecond);
  EXPECT_THAT(spec.locality_waits, ElementsAre(0, 5 * kSecond));
  EXPECT_TRUE(spec.no_speculation);
  EXPECT_EQ(spec.program, "abc123");
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->spec, spec) << "from the journal";
  EXPECT_EQ(jobs->View(job)->record->request.deadline, 600 * kSecond);
  EXPECT_THAT(jobs->View(job)->record->request.locality_waits, ElementsAre(0, 5 * kSecond));
}

TEST_F(TrackerSchedulerTest, ASwitchIsJournaledAndLosesNoTask) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  Submit(Request("/out", 0));
  const LaunchOrder running = Take();
  sched::Settings settings;
  settings.Of<sched::EdfSettings>().exclusive = true;
  SetScheduler({"fifo", sched::FormatSettings(settings)});
  EXPECT_THAT(kills, IsEmpty());
  Done(running, WriteOutput(running.attempt, "part-m-00000"));
  const LaunchOrder second = Take();
  Done(second, WriteOutput(second.attempt, "part-m-00001"));
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
  const std::vector<std::string> lines = Lines(JobId{0}, "SchedulerSet");
  ASSERT_THAT(lines, SizeIs(1));
  const auto event = sched::ParseEvent(lines[0]);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(std::get<sched::SchedulerSet>(event->event).settings, sched::FormatSettings(settings));
}

TEST_F(TrackerSchedulerTest, AReplayGoesThroughTheSwitches) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  const JobId job = Submit(Request("/out", 0));
  SetScheduler({"fifo", "[edf]\nexclusive = true\n"});
  Restart();
  EXPECT_EQ(jobs->View(job)->maps.running, 1u);
}

// A drained node is still drained in the history of the jobs that come after a quiet time.
TEST_F(TrackerSchedulerTest, ADrainedNodeIsStillDrainedAfterARestart) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Step step = At();
  jobs->NodeDrained(node, true, &step);
  Finish(std::move(step));
  Submit(Request("/out", 0));
  EXPECT_THAT(launches, IsEmpty());
  Restart();
  EXPECT_TRUE(jobs->cluster().FindNode(node)->drained);
}

// The worker says with each heartbeat whether attempts can start there.
TEST_F(TrackerSchedulerTest, ANodeThatTakesNoTasksGetsNoneUntilItDoes) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const auto say = [&](bool takes) {
    Step step = At();
    jobs->NodeTakesTasks(node, takes, &step);
    Finish(std::move(step));
  };
  const std::uint64_t events = jobs->deciding_cost().events;
  say(true);
  EXPECT_EQ(jobs->deciding_cost().events, events) << "it is known already";
  say(false);
  Submit(Request("/out", 0));
  EXPECT_THAT(launches, IsEmpty());
  Restart();
  say(false);
  EXPECT_THAT(launches, IsEmpty());
  say(true);
  EXPECT_THAT(launches, SizeIs(1));
}

TEST_F(TrackerSchedulerTest, SizesOfMapsAreReported) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  const JobId job = Submit(Request("/out", 1));
  const LaunchOrder map = Take();
  Step step = At();
  TaskReport report;
  report.bytes_read = 1000;
  report.counters[{"millrace", "map_output_bytes"}] = 1500;
  report.counters[{"millrace", "map_stored_bytes"}] = 1600;
  jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
  Finish(std::move(step));
  EXPECT_EQ(jobs->cluster().FindJob(job)->map_input_bytes, 1000u);
  EXPECT_EQ(jobs->cluster().FindJob(job)->map_output_bytes, 1500u);
  report.counters[{"millrace", "combine_output_records"}] = 7;
  EXPECT_EQ(MapOutputBytes(report), 1600u) << "a combiner: what is stored";
}

TEST_F(TrackerSchedulerTest, ProgressIsToldToTheEngineInStepsAndOnlyForSpeculation) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 0));
  const LaunchOrder map = Take();
  const auto progress = [&](double fraction) {
    Step step = At();
    jobs->Progress(node, map.attempt, fraction, &step);
    Finish(std::move(step));
  };
  progress(0.5);
  EXPECT_THAT(Lines(job, "AttemptProgressed"), IsEmpty());
  sched::Settings settings;
  settings.Of<sched::SpeculationSettings>().enabled = true;
  SetScheduler({"fifo", sched::FormatSettings(settings)});
  progress(0.52);
  progress(0.53);
  progress(0.569);
  EXPECT_THAT(Lines(job, "AttemptProgressed"), SizeIs(1)) << "a twentieth more than what was told";
  progress(0.57);
  EXPECT_THAT(Lines(job, "AttemptProgressed"), SizeIs(2));
  EXPECT_EQ(jobs->cluster().FindJob(job)->maps[0].running[0].per_mille, 570u);
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->maps[0].running[0].per_mille, 570u);
}

TEST_F(TrackerSchedulerTest, AReduceThatComputesIsJournaledOnce) {
  const NodeId node = AddWorker("a", 1, 2);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 2));
  Done(Take());
  const LaunchOrder reduce = Take();
  EXPECT_EQ(reduce.computing, 2u) << "all that the policy lets in";
  for (int i = 0; i < 2; ++i) {
    Step step = At();
    jobs->ReduceComputing(node, reduce.attempt, &step);
    Finish(std::move(step));
  }
  Step step = At();
  jobs->ReduceComputing(77_n, launches.front().attempt, &step);  // another node knows nothing of it
  Finish(std::move(step));
  EXPECT_EQ(jobs->cluster().FindJob(job)->running_attempts[sched::kComputePermit], 1u);
  EXPECT_THAT(Lines(job, "ReduceComputing"), SizeIs(1));
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->running_attempts[sched::kComputePermit], 1u);
}

// One reduce slot, and two reduces that have copied: the master lets the first compute, says so again to a worker that
// registers again, and knows it after a restart.
TEST_F(TrackerSchedulerTest, PermitsAreGrantedJournaledAndRepeated) {
  SetScheduler({"fifo+ccs", ""});
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1)), other = Submit(Request("/out2", 1));
  Done(Take());
  Done(Take());
  const LaunchOrder first = Take(), second = Take();
  ASSERT_TRUE(first.attempt.task.reduce() && second.attempt.task.reduce());
  EXPECT_EQ(first.computing, 1u);
  const auto copied = [&](const LaunchOrder& reduce) {
    Step step = At();
    jobs->ReduceCopied(node, reduce.attempt, &step);
    jobs->ReduceCopied(NodeId{node.value + 1}, reduce.attempt, &step);  // it does not run there
    Finish(std::move(step));
  };
  copied(first);
  copied(first);  // the report was repeated
  copied(second);
  ASSERT_THAT(computes, SizeIs(1));
  EXPECT_EQ(computes[0].attempt, first.attempt);
  EXPECT_EQ(computes[0].node, node);
  EXPECT_THAT(Lines(job, "ReduceCopied"), SizeIs(1));
  EXPECT_THAT(Lines(job, "ComputeGranted"), SizeIs(1));
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->running_attempts[sched::kComputePermit], 1u);
  EXPECT_EQ(jobs->cluster().FindJob(other)->copied_reduces.size(), 1u);
  computes.clear();
  Step step = At();
  (void)jobs->NodeRegistered(*nodes->Find(node), {{first.attempt, second.attempt}, {}, {}, {}}, &step);
  Finish(std::move(step));
  ASSERT_THAT(computes, SizeIs(1));
  EXPECT_EQ(computes[0].attempt, first.attempt);
  computes.clear();
  Done(first);
  ASSERT_THAT(computes, SizeIs(1));
  EXPECT_EQ(computes[0].attempt, second.attempt);
}

TEST_F(TrackerSchedulerTest, RoomIsToldWhenItIsAnotherThanBelieved) {
  const NodeId node = AddWorker("a", 1, 1);
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  const auto tell = [&](std::uint64_t free) {
    Step step = At();
    jobs->NodeSpace(node, free, &step);
    jobs->NodeSpace(77_n, free, &step);  // that nobody knows
    Finish(std::move(step));
  };
  for (const std::uint64_t free : {10 * kGiB, 10 * kGiB, 10 * kGiB - kGiB / 2, 9 * kGiB}) tell(free);
  EXPECT_THAT(Lines(JobId{0}, "NodeSpace"), SizeIs(2)) << "at first, and when it is a sixteenth less";
  EXPECT_EQ(jobs->cluster().FindNode(node)->free_bytes, 9 * kGiB);
  tell(1 << 20);
  tell(0);
  EXPECT_THAT(Lines(JobId{0}, "NodeSpace"), SizeIs(3)) << "a MiB more or less is nothing";
}

// A job's outputs are deleted at its end. Until the worker tells of it the master believes that 5 MiB are left.
TEST_F(TrackerSchedulerTest, MuchMoreRoomThanBelievedIsToldHoweverLittleItIs) {
  const NodeId node = AddWorker("a", 1, 1);
  constexpr std::uint64_t kOneMiB = std::uint64_t{1} << 20;
  const auto tell = [&](std::uint64_t free) {
    Step step = At();
    jobs->NodeSpace(node, free, &step);
    Finish(std::move(step));
    return jobs->cluster().FindNode(node)->free_bytes;
  };
  EXPECT_EQ(tell(70 * kOneMiB), 70 * kOneMiB);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  LaunchOrder map = Take();
  ASSERT_EQ(map.attempt.task.kind, TaskKind::kMap);
  Step step = At();
  TaskReport report;
  report.bytes_read = 20 * kOneMiB;
  report.counters[{"millrace", "map_output_bytes"}] = 65 * kOneMiB;
  jobs->AttemptDone(node, map.attempt, report, {}, &step);
  Finish(std::move(step));
  EXPECT_EQ(jobs->cluster().FindNode(node)->free_bytes, 5 * kOneMiB);
  Step kill = At();
  ASSERT_TRUE(jobs->Kill(job, "test", &kill).ok());
  Finish(std::move(kill));
  EXPECT_EQ(tell(60 * kOneMiB), 60 * kOneMiB);
  EXPECT_EQ(tell(62 * kOneMiB), 60 * kOneMiB) << "which is hardly more";
  EXPECT_EQ(tell(50 * kOneMiB), 60 * kOneMiB) << "which is hardly less";
}

// A pool that has been below its minimum for too long gets a slot back: an attempt is killed, and counts as never
// started.
TEST_F(TrackerSchedulerTest, APreemptedAttemptIsKilledAndRunsAgain) {
  SetScheduler({"fair+preempt", "[fair]\nmin_share_timeout = 1\n[pools.ads]\nmin_maps = 1\n"});
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/spam", 0);
  request.pool = "spam";
  const JobId spam = Submit(request);
  const LaunchOrder victim = Take();
  request.output = "/ads";
  request.pool = "ads";
  const JobId ads = Submit(request);
  EXPECT_THAT(kills, IsEmpty());
  ASSERT_TRUE(jobs->NextWake().has_value());
  EXPECT_NEAR(static_cast<double>(*jobs->NextWake()), static_cast<double>(now + kSecond), 5e3);
  now += 2 * kSecond;
  Finish(At());
  ASSERT_THAT(kills, SizeIs(1));
  EXPECT_EQ(kills[0].attempt, victim.attempt);
  EXPECT_THAT(kills[0].reason, HasSubstr("ads"));
  const LaunchOrder other = Take();
  EXPECT_EQ(other.attempt.task.job, ads);
  EXPECT_EQ((*jobs->Attempts(spam))[0].state, AttemptState::kPreempted);
  Restart();
  ComeBack(node);
  EXPECT_EQ((*jobs->Attempts(spam))[0].state, AttemptState::kPreempted);
  EXPECT_EQ(jobs->View(spam)->figures.preempted_attempts, 1u);
  EXPECT_EQ(jobs->View(spam)->figures.failed_attempts, 0u);
  Done(other, WriteOutput(other.attempt, "part-m-00000"));
  const LaunchOrder again = Take();
  EXPECT_EQ(again.attempt, (AttemptId{victim.attempt.task, 1}));
  Done(again, WriteOutput(again.attempt, "part-m-00000"));
  EXPECT_EQ(jobs->View(spam)->state, JobState::kSucceeded);
  Restart();
  EXPECT_EQ(jobs->View(spam)->figures.preempted_attempts, 1u) << "in its record";
  EXPECT_EQ((*jobs->Attempts(spam))[0].state, AttemptState::kPreempted) << "in its journal";
}

// Two jobs each have one map done and another one that does not fit. The later job gives way, and workers drop what it
// left.
TEST_F(TrackerSchedulerTest, AJobThatGivesWayLeavesNothingOnWorkers) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  const auto request = [&](const std::string& output, std::uint8_t priority) {
    JobRequest next = Request(output, 1);
    next.slow_start = 1;
    next.priority = priority;
    return next;
  };
  const auto done = [&](const LaunchOrder& map) {
    Step step = At();
    TaskReport report;
    report.bytes_read = 1 << 20;
    report.counters[{"millrace", "map_output_bytes"}] = 1 << 20;
    jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
    Finish(std::move(step));
  };
  const auto room = [&](std::uint64_t free) {
    Step step = At();
    jobs->NodeSpace(node, free, &step);
    Finish(std::move(step));
  };
  const JobId first = Submit(request("/first", 2));
  const JobId second = Submit(request("/second", 0));
  done(Take());
  const LaunchOrder urgent = Take();
  ASSERT_EQ(urgent.attempt.task.job, second);
  room(3 << 19);  // a MiB and a half: no room for another map beside this one
  forgets.clear();
  done(urgent);
  EXPECT_THAT(launches, IsEmpty());
  EXPECT_THAT(Lines(second, "JobEvicted"), SizeIs(1)) << "it was submitted last";
  ASSERT_THAT(forgets, SizeIs(1));
  EXPECT_EQ(forgets[0].job, second);
  EXPECT_EQ(forgets[0].node, node);
  Restart();
  ComeBack(node);
  EXPECT_TRUE(jobs->cluster().FindJob(second)->held);
  room(std::uint64_t{1} << 30);
  const LaunchOrder goes_on = Take();
  EXPECT_EQ(goes_on.attempt.task, (TaskId{first, TaskKind::kMap, 1}));
  done(goes_on);
  const LaunchOrder reduce = Take();
  Done(reduce, WriteOutput(reduce.attempt, "part-r-00000"));
  EXPECT_EQ(jobs->View(first)->state, JobState::kSucceeded);
  EXPECT_EQ(Take().attempt, (AttemptId{urgent.attempt.task, 1})) << "the other has its turn, from the start";
}

// A job holds the only reduce slot and the output of its first map, and there is no room for the second: it fails, and
// stays so.
TEST_F(TrackerSchedulerTest, AJobWhoseOutputsFitNowhereFailsAndSaysWhy) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  JobRequest request = Request("/out", 1);
  request.slow_start = 0;
  const JobId job = Submit(request);
  const LaunchOrder map = Take();
  const LaunchOrder reduce = Take();
  ASSERT_TRUE(reduce.attempt.task.reduce());
  Step step = At();
  TaskReport report;
  report.bytes_read = 1 << 20;
  report.counters[{"millrace", "map_output_bytes"}] = 1 << 20;
  jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
  jobs->NodeSpace(node, 1 << 19, &step);
  Finish(std::move(step));
  EXPECT_THAT(launches, IsEmpty());
  ASSERT_TRUE(jobs->NextWake().has_value());
  EXPECT_NEAR(static_cast<double>(*jobs->NextWake()), static_cast<double>(now + 300 * kSecond), 1e4);
  now += 299 * kSecond;
  Finish(At());
  EXPECT_EQ(jobs->View(job)->state, JobState::kRunning);
  now += 2 * kSecond;
  Finish(At());
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    EXPECT_EQ(jobs->View(job)->state, JobState::kFailed);
    ASSERT_TRUE(jobs->View(job)->record->outcome.has_value());
    EXPECT_THAT(jobs->View(job)->record->outcome->reason,
                HasSubstr("map 1 is expected to write 1.0 MiB, and the only worker that takes maps, " +
                          std::to_string(node.value) + ", has 512.0 KiB"));
    EXPECT_THAT(Lines(job, "JobGivenUp"), SizeIs(1));
  }
  ASSERT_FALSE(kills.empty());
  EXPECT_EQ(kills.back().attempt, reduce.attempt);
  EXPECT_THAT(forgets, ::testing::Contains(::testing::Field(&ForgetOrder::job, job)));
}

// What was copied to the node of the free slot goes first there, and what was not done when the master died is known
// after the restart.
TEST_F(TrackerSchedulerTest, ACopyOfItsInputMakesAPendingMapLocalElsewhere) {
  const NodeId holder = AddWorker("a", 0, 0), node = AddWorker("b", 1, 0);
  AddFile("/in/text", 4, {holder});
  const JobId job = Submit(Request("/out", 1));
  const LaunchOrder first = Take();
  ASSERT_EQ(first.attempt.task.index, 0u);
  NoteMovedReplicas();
  EXPECT_THAT(Lines(job, "ReplicasMoved"), IsEmpty()) << "the engine knows it all";
  files->blocks().Received(node, BlockOf(job, 0));
  files->blocks().Received(node, BlockOf(job, 3));
  Done(first);
  const LaunchOrder second = Take();
  EXPECT_EQ(second.attempt.task.index, 1u) << "it is not told yet";
  NoteMovedReplicas();
  const std::vector<std::string> lines = Lines(job, "ReplicasMoved");
  ASSERT_THAT(lines, SizeIs(1)) << "not of the map that is done";
  EXPECT_THAT(lines[0], HasSubstr("map=job1.m.3 replicas=n1,n2"));
  Done(second);
  const LaunchOrder third = Take();
  EXPECT_EQ(third.attempt.task.index, 3u);
  EXPECT_EQ(jobs->View(job)->figures.launched_at[0], 1u);
  files->blocks().Corrupt(holder, BlockOf(job, 2).id);
  NoteMovedReplicas();
  EXPECT_THAT(jobs->cluster().FindJob(job)->pending_maps.unlocated().First(), 2u);
  Restart();
  EXPECT_THAT(jobs->cluster().FindJob(job)->pending_maps.unlocated().First(), 2u) << "from the journal";
  ComeBack(node);
  files->blocks().Received(node, BlockOf(job, 2));
  NoteMovedReplicas();
  EXPECT_THAT(jobs->cluster().FindJob(job)->spec.maps[2].replicas, ElementsAre(NodeId{node}));
  EXPECT_THAT(jobs->cluster().FindJob(job)->spec.maps[3].replicas, IsEmpty()) << "nobody has reported it since";
}

// Nobody looks for the replicas of a map that is done, but it may have to run again.
TEST_F(TrackerSchedulerTest, AMapThatRunsAgainIsLookedAt) {
  const NodeId node = AddWorker("a", 1, 0), other = AddWorker("b", 0, 0);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  Done(Take());
  files->blocks().Received(other, BlockOf(job, 0));
  NoteMovedReplicas();
  EXPECT_THAT(Lines(job, "ReplicasMoved"), IsEmpty());
  Step step = At();
  jobs->NodeRegistered(*nodes->Find(node), {}, &step);  // it does not have the output any more
  Finish(std::move(step));
  NoteMovedReplicas();
  EXPECT_THAT(jobs->cluster().FindJob(job)->spec.maps[0].replicas, ElementsAre(NodeId{node}, NodeId{other}));
}

// Each of two jobs reads the blocks of a worker that is lost, packed into maps and one by one.
TEST_F(TrackerSchedulerTest, ALostWorkerWithManyBlocksIsToldPieceByPiece) {
  const NodeId holder = AddWorker("a", 0, 0), node = AddWorker("b", 1, 0);
  constexpr std::size_t kBlocks = JobTracker::kMostLookedAt / 2 + 100;
  AddFile("/in/text", kBlocks, {holder, node});
  const JobId first = Submit(Request("/first", 1)), second = Submit(Request("/second", 1));
  files->blocks().NodeDown(holder);
  const auto told = [&] { return Lines(first, "ReplicasMoved").size() + Lines(second, "ReplicasMoved").size(); };
  NoteMovedReplicas();
  EXPECT_EQ(told(), JobTracker::kMostLookedAt);
  NoteMovedReplicas();
  EXPECT_EQ(told(), 2 * kBlocks);
  Step step = At();
  ASSERT_TRUE(jobs->Kill(first, "a test wants it", &step).ok());
  Finish(std::move(step));
  files->blocks().Received(node, BlockOf(second, 0));
  files->blocks().Corrupt(node, BlockOf(second, 7).id);
  NoteMovedReplicas();
  EXPECT_EQ(Lines(first, "ReplicasMoved").size(), kBlocks) << "of a job that has ended";
  EXPECT_EQ(told(), 2 * kBlocks + 1);
}

// A map of several files is local where all of them are.
TEST_F(TrackerSchedulerTest, AMapOfSeveralFilesIsWhereAllOfThemAre) {
  const NodeId holder = AddWorker("a", 1, 0), other = AddWorker("b", 0, 0);
  for (const char* file : {"/in/a", "/in/b", "/in/c", "/in/d"}) AddFile(file, 1, {holder});
  JobRequest packed = Request("/packed", 1);
  packed.pack = std::uint64_t{64} << 20;
  const JobId job = Submit(packed);
  const MapSplits map = jobs->Splits(job)->front();
  ASSERT_THAT(map, SizeIs(2));
  files->blocks().Received(other, map[0].blocks.front());
  NoteMovedReplicas();
  EXPECT_THAT(Lines(job, "ReplicasMoved"), IsEmpty());
  files->blocks().Received(other, map[1].blocks.front());
  NoteMovedReplicas();
  EXPECT_THAT(jobs->cluster().FindJob(job)->spec.maps[0].replicas, ElementsAre(NodeId{holder}, NodeId{other}));
}

TEST_F(TrackerSchedulerTest, WhatATransferReachedIsTold) {
  const NodeId holder = AddWorker("a", 0, 0), reader = AddWorker("b", 1, 1);
  AddFile("/in/text", 2, {holder});
  Submit(Request("/out", 1));
  const auto done = [&](std::int64_t bytes, std::int64_t micros) {
    const LaunchOrder map = Take();
    Step step = At();
    TaskReport report;
    report.counters[{"millrace", "bytes_read_remote"}] = bytes;
    report.counters[{"millrace", "remote_read_micros"}] = micros;
    jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
    Finish(std::move(step));
  };
  done(1 << 10, 100'000);
  EXPECT_THAT(Lines(JobId{0}, "BandwidthMeasured"), IsEmpty()) << "too little to say anything";
  done(4 << 20, 50'000);
  EXPECT_THAT(Lines(JobId{0}, "BandwidthMeasured"), SizeIs(1));
  const sched::ClusterState& cluster = jobs->cluster();
  const double rate = cluster.bandwidths().Between(holder, reader, cluster.topology(), {});
  EXPECT_EQ(rate, (4 << 20) / 0.05);
}

TEST_F(TrackerSchedulerTest, AReadOf64KiBTellsARateAndALesserOneDoesNot) {
  const auto rate = [](std::int64_t bytes, std::int64_t micros) {
    TaskReport report;
    report.counters[{"millrace", "bytes_read_remote"}] = bytes;
    report.counters[{"millrace", "remote_read_micros"}] = micros;
    return RemoteReadRate(report);
  };
  EXPECT_EQ(rate(64 << 10, 1'000), 65'536'000U);
  EXPECT_EQ(rate((64 << 10) - 1, 1'000), 0U);
  EXPECT_EQ(rate(512 << 10, 100), 5'242'880'000U);
  EXPECT_EQ(rate(512 << 10, 99), 0U);
}

// What a history needs to be simulated on as many cores: nothing is decided by it.
TEST_F(TrackerSchedulerTest, WhatAttemptsHadOfTheCoresIsInTheJournal) {
  const NodeId node = AddWorker("a", 1, 1);
  WorkerFacts facts = nodes->Find(node)->facts;
  const auto registers = [&] {
    Step step = At();
    jobs->NodeRegistered(nodes->Admit(facts, &step.batch), {}, &step);
    Finish(std::move(step));
  };
  facts.cores = 1.5, facts.machine = "6f-1";
  registers();
  EXPECT_THAT(Lines(JobId{0}, "NodeJoined"), SizeIs(1)) << "a worker that only tells more loses no attempts";
  ++facts.incarnation;
  registers();
  EXPECT_THAT(Lines(JobId{0}, "NodeJoined").back(), HasSubstr(" cores=1.5 machine=6f-1"));
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 0));
  const LaunchOrder map = Take();
  Step step = At();
  TaskReport report;
  report.use = {70, 8, 900};
  jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
  Finish(std::move(step));
  EXPECT_THAT(Lines(job, "AttemptSucceeded"), ElementsAre(HasSubstr(" cpu=70 waited=8 start=900")));
}

// A map of several files has one rate, which is counted for the node that more than half of the bytes came from, if
// there is one.
TEST_F(TrackerSchedulerTest, WhatSeveralTransfersReachedIsToldOfTheGreatest) {
  const NodeId reader = AddWorker("r", 1, 0), one = AddWorker("a", 0, 0), two = AddWorker("b", 0, 0),
               all = AddWorker("c", 0, 0);
  // As all are as near, those with the lower numbers are read from: two files of three from `one`, then one from each.
  const std::vector<std::vector<NodeId>> places = {{all}, {one, all}, {one, all}, {all}, {one, all}, {two, all}};
  for (std::size_t i = 0; i < places.size(); ++i) AddFile("/in/f" + std::to_string(i), 1, places[i]);
  JobRequest request = Request("/out", 1);
  request.pack = std::uint64_t{64} << 20;
  const JobId job = Submit(request);
  const std::vector<MapSplits>& maps = *jobs->Splits(job);
  ASSERT_THAT(maps, SizeIs(2));
  EXPECT_THAT(maps, Each(SizeIs(3)));
  TaskReport report;
  report.counters[{"millrace", "bytes_read_remote"}] = 4 << 20;
  report.counters[{"millrace", "remote_read_micros"}] = 50'000;
  for (int done = 0; done < 2; ++done) {
    const LaunchOrder map = Take();
    Step step = At();
    jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
    Finish(std::move(step));
    const std::vector<std::string> lines = Lines(JobId{0}, "BandwidthMeasured");
    ASSERT_THAT(lines, SizeIs(1));
    const auto measured = std::get<sched::BandwidthMeasured>(sched::ParseEvent(lines[0])->event);
    EXPECT_EQ(measured.from, one);
    EXPECT_EQ(measured.to, reader);
  }
}

// With copy-compute splitting, more reduces than slots are launched, and as many may compute as there are slots.
TEST_F(TrackerSchedulerTest, SplitReducesComputeOnTheNodesReduceSlots) {
  SetScheduler({"fair+ccs", "[ccs]\nmax_reducers = 3\n"});
  const NodeId node = AddWorker("a", 3, 1);
  AddFile("/in/text", 1, {node});
  for (const char* output : {"/one", "/two", "/three"}) Submit(Request(output, 1));
  const std::vector<LaunchOrder> maps = launches;
  ASSERT_THAT(maps, SizeIs(3));
  launches.clear();
  for (const LaunchOrder& map : maps) Done(map);
  ASSERT_THAT(launches, SizeIs(3)) << "three times the slots";
  for (const LaunchOrder& reduce : launches) EXPECT_EQ(reduce.computing, 1u);
}

// If slots have no type, every reduce that was let in may compute.
TEST_F(TrackerSchedulerTest, OnSlotsWithoutATypeEveryReduceComputes) {
  SetScheduler({"fresh-dynamic", ""});
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 3, {node});
  Submit(Request("/out", 3));
  const std::vector<LaunchOrder> maps = launches;
  ASSERT_THAT(maps, SizeIs(3)) << "on map and reduce slots";
  launches.clear();
  for (const LaunchOrder& map : maps) Done(map);
  ASSERT_THAT(launches, SizeIs(3));
  for (const LaunchOrder& reduce : launches) EXPECT_EQ(reduce.computing, 3u);
}

// What a program did is known when it runs again over input of the same type, also after a restart.
TEST_F(TrackerSchedulerTest, WhatDecidingCostsIsCountedFromTheProcessOn) {
  const NodeId node = AddWorker("a", 1, 1);
  const DecidingCost before = jobs->deciding_cost();
  Step step = At();
  jobs->NodeDrained(node, true, &step);  // an event,
  Finish(std::move(step));               // and a decision
  EXPECT_EQ(jobs->deciding_cost().events, before.events + 1);
  EXPECT_EQ(jobs->deciding_cost().nanoseconds, before.nanoseconds + 2'000);
  Step refused = At();
  jobs->NodeDrained(NodeId{99}, true, &refused);
  EXPECT_EQ(jobs->deciding_cost().events, before.events + 1) << "the engine knows no such node";
  EXPECT_EQ(jobs->deciding_cost().nanoseconds, before.nanoseconds + 3'000);
  Restart();
  EXPECT_EQ(jobs->deciding_cost().events, 0u) << "what is read back has been paid for";
  EXPECT_EQ(jobs->deciding_cost().nanoseconds, 0);
}

TEST_F(TrackerSchedulerTest, TheHistoryOfAProgramOutlivesItsJobsAndTheMaster) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const auto request = [&](const std::string& output, const std::string& sample) {
    JobRequest next = Request(output, 1);
    next.executable.path = "/.millrace/executables/abc";
    next.input_sample = sample;
    return next;
  };
  const std::string web = "<html><body>\n<p>a</p><p>b</p>\n";
  const JobId first = Submit(request("/out1", web));
  EXPECT_EQ(jobs->cluster().FindJob(first)->spec.input_type, "web");
  EXPECT_EQ(jobs->cluster().FindJob(first)->spec.profile.runs, 0u);
  const LaunchOrder map = Take();
  now += 5 * kSecond;
  Step step = At();
  TaskReport report;
  report.bytes_read = 1000;
  report.counters[{"millrace", "map_output_bytes"}] = 250;
  jobs->AttemptDone(map.node, map.attempt, report, {}, &step);
  Finish(std::move(step));
  const LaunchOrder reduce = Take();
  now += 3 * kSecond;
  Done(reduce, WriteOutput(reduce.attempt, "part-r-00000"));
  ASSERT_EQ(ended.size(), 1u);
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    const JobId again = Submit(request(restarted ? "/out3" : "/out2", web));
    const sched::JobProfile profile = jobs->cluster().FindJob(again)->spec.profile;
    EXPECT_EQ(profile.runs, 1u);
    EXPECT_EQ(profile.output_ratio, 0.25);
    EXPECT_NEAR(static_cast<double>(profile.map_time), 5e6, 5e4);
    EXPECT_NEAR(static_cast<double>(profile.reduce_time), 3e6, 5e4);
  }
  const JobId other = Submit(request("/out4", "plain text\n"));
  EXPECT_EQ(jobs->cluster().FindJob(other)->spec.profile.runs, 0u) << "another type of input";
}

}  // namespace
}  // namespace millrace::master
