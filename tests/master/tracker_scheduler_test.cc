// What the job tracker does for schedulers: who is told what, and what the journal keeps.
#include <gmock/gmock.h>

#include "schedulers/config/settings_text.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/event_text.h"
#include "tracker_fixture.h"

namespace millrace::master {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TrackerSchedulerTest : public TrackerFixture {
 protected:
  // The journal's lines of the job (0: of nodes and schedulers) that contain `word`.
  std::vector<std::string> Lines(std::uint32_t job, const std::string& word) {
    std::vector<std::string> lines;
    EXPECT_TRUE(store
                    ->Scan("e/" + KeyNumber(job), {},
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
  LaunchOrder Take() {
    EXPECT_FALSE(launches.empty());
    const LaunchOrder first = launches.front();
    launches.erase(launches.begin());
    return first;
  }
};

TEST_F(TrackerSchedulerTest, WhatTheUserSaysReachesTheEngine) {
  AddFile("/in/text", 1, {AddWorker("a", 1, 1)});
  JobRequest request = Request("/out", 1);
  request.pool = "ads";
  request.priority = 1;
  request.deadline = 600 * kSecond;
  request.map_time = 3 * kSecond;
  request.reduce_time = 4 * kSecond;
  request.locality_waits = {0, 5 * kSecond};
  request.executable = "/.millrace/executables/abc123";
  const sched::JobId job = Submit(request);
  const sched::JobSpec spec = jobs->cluster().FindJob(job)->spec;
  EXPECT_EQ(spec.user, "tester");
  EXPECT_EQ(spec.pool, "ads");
  EXPECT_EQ(spec.priority, sched::Priority::kHigh);
  EXPECT_EQ(spec.deadline, jobs->View(job)->record->submitted + 600 * kSecond);
  EXPECT_EQ(spec.map_time, 3 * kSecond);
  EXPECT_EQ(spec.reduce_time, 4 * kSecond);
  EXPECT_THAT(spec.locality_waits, ElementsAre(0, 5 * kSecond));
  EXPECT_EQ(spec.program, "abc123");
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->spec, spec) << "from the journal";
  EXPECT_EQ(jobs->View(job)->record->request.deadline, 600 * kSecond);
  EXPECT_THAT(jobs->View(job)->record->request.locality_waits, ElementsAre(0, 5 * kSecond));
}

TEST_F(TrackerSchedulerTest, ASwitchIsJournaledAndLosesNoTask) {
  const NodeNumber node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  Submit(Request("/out", 0));
  const LaunchOrder running = Take();
  sched::Settings settings;
  settings.edf.exclusive = true;
  SetScheduler({"fifo", sched::FormatSettings(settings)});
  EXPECT_THAT(kills, IsEmpty());
  Done(running, WriteOutput(running.attempt, "part-m-00000"));
  const LaunchOrder second = Take();
  Done(second, WriteOutput(second.attempt, "part-m-00001"));
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
  const std::vector<std::string> lines = Lines(0, "SchedulerSet");
  ASSERT_THAT(lines, SizeIs(2)) << "before the first job, and the switch";
  const auto event = sched::ParseEvent(lines[1]);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(std::get<sched::SchedulerSet>(event->event).settings, sched::FormatSettings(settings));
}

TEST_F(TrackerSchedulerTest, AReplayGoesThroughTheSwitches) {
  const NodeNumber node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  const sched::JobId job = Submit(Request("/out", 0));
  SetScheduler({"fifo", "[edf]\nexclusive = true\n"});
  Restart();
  EXPECT_EQ(jobs->View(job)->maps.running, 1u);
}

// A drained node stays so in the history of the jobs that come after a quiet time.
TEST_F(TrackerSchedulerTest, ADrainedNodeIsStillDrainedAfterARestart) {
  const NodeNumber node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Step step = At();
  jobs->NodeDrained(node, true, &step);
  Finish(std::move(step));
  Submit(Request("/out", 0));
  EXPECT_THAT(launches, IsEmpty());
  Restart();
  EXPECT_TRUE(jobs->cluster().FindNode(sched::NodeId{node})->drained);
}

TEST_F(TrackerSchedulerTest, SizesOfMapsAreReported) {
  const NodeNumber node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  const sched::JobId job = Submit(Request("/out", 1));
  const LaunchOrder map = Take();
  Step step = At();
  TaskReport report;
  report.bytes_read = 1000;
  report.counters[{"millrace", "map_output_bytes"}] = 1500;
  report.counters[{"millrace", "map_stored_bytes"}] = 1600;
  jobs->AttemptDone(map.node, map.attempt, report, std::nullopt, &step);
  Finish(std::move(step));
  EXPECT_EQ(jobs->cluster().FindJob(job)->map_input_bytes, 1000u);
  EXPECT_EQ(jobs->cluster().FindJob(job)->map_output_bytes, 1500u);
  report.counters[{"millrace", "combine_output_records"}] = 7;
  EXPECT_EQ(MapOutputBytes(report), 1600u) << "a combiner: what is stored";
}

TEST_F(TrackerSchedulerTest, ProgressIsToldToTheEngineInStepsAndOnlyForSpeculation) {
  const NodeNumber node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const sched::JobId job = Submit(Request("/out", 0));
  const LaunchOrder map = Take();
  const auto progress = [&](double fraction) {
    Step step = At();
    jobs->Progress(node, map.attempt, fraction, &step);
    Finish(std::move(step));
  };
  progress(0.5);
  EXPECT_THAT(Lines(job.value, "AttemptProgressed"), IsEmpty());
  sched::Settings settings;
  settings.speculation.enabled = true;
  SetScheduler({"fifo", sched::FormatSettings(settings)});
  progress(0.52);
  progress(0.53);
  progress(0.569);
  EXPECT_THAT(Lines(job.value, "AttemptProgressed"), SizeIs(1)) << "a twentieth more than what was told";
  progress(0.57);
  EXPECT_THAT(Lines(job.value, "AttemptProgressed"), SizeIs(2));
  EXPECT_EQ(jobs->cluster().FindJob(job)->maps[0].running[0].per_mille, 570u);
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->maps[0].running[0].per_mille, 570u);
}

TEST_F(TrackerSchedulerTest, AReduceThatComputesIsJournaledOnce) {
  const NodeNumber node = AddWorker("a", 1, 2);
  AddFile("/in/text", 1, {node});
  const sched::JobId job = Submit(Request("/out", 2));
  Done(Take());
  const LaunchOrder reduce = Take();
  EXPECT_EQ(reduce.computing, 2u) << "all that the policy lets in";
  for (int i = 0; i < 2; ++i) {
    Step step = At();
    jobs->ReduceComputing(node, reduce.attempt, &step);
    Finish(std::move(step));
  }
  Step step = At();
  jobs->ReduceComputing(node + 1, launches.front().attempt, &step);  // another node knows nothing of it
  Finish(std::move(step));
  EXPECT_EQ(jobs->cluster().FindJob(job)->computing, 1u);
  EXPECT_THAT(Lines(job.value, "ReduceComputing"), SizeIs(1));
  Restart();
  EXPECT_EQ(jobs->cluster().FindJob(job)->computing, 1u);
}

}  // namespace
}  // namespace millrace::master
