// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_tracker.h"

#include <gmock/gmock.h>

#include "base/kv/spare_log.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/event_text.h"
#include "tests/master/tracker_fixture.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

class JobTrackerTest : public TrackerFixture {
 protected:
  LaunchOrder Take() {
    EXPECT_FALSE(launches.empty());
    const LaunchOrder first = launches.front();
    launches.erase(launches.begin());
    return first;
  }
};

TEST_F(JobTrackerTest, RunsAJobToItsCommittedOutput) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 2, {node});
  const JobId job = Submit(Request("/out", 1));
  ASSERT_THAT(launches, SizeIs(2)) << "both maps fit the slots";
  EXPECT_EQ(jobs->View(job)->state, JobState::kRunning);
  Done(Take(), std::nullopt, 3);
  Done(Take(), std::nullopt, 4);
  ASSERT_THAT(launches, SizeIs(1));
  const LaunchOrder reduce = Take();
  EXPECT_EQ(reduce.attempt.task.kind, TaskKind::kReduce);
  const AttemptOutput output = WriteOutput(reduce.attempt, "part-r-00000");
  EXPECT_FALSE(Exists("/out/part-r-00000")) << "an attempt's output is not visible before it commits";
  Done(reduce, output, 5);
  EXPECT_TRUE(Exists("/out/part-r-00000"));
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
  EXPECT_EQ(ended, std::set<JobId>{job});
  const Result<JobView> view = jobs->View(job);
  EXPECT_EQ(view->state, JobState::kSucceeded);
  EXPECT_EQ(view->figures.bytes_read, 300u);
  EXPECT_EQ(view->figures.launched_at[0], 2u) << "both maps ran where their block is";
  EXPECT_EQ((*jobs->JobCounters(job))[std::make_pair("millrace", "records")], 3 + 4 + 5);
  EXPECT_THAT(forgets, SizeIs(1));
}

TEST_F(JobTrackerTest, OneOfTwoReportsOfATaskCommits) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 1));
  Done(Take());
  const LaunchOrder reduce = Take();
  const AttemptOutput output = WriteOutput(reduce.attempt, "part-r-00000");
  Done(reduce, output);
  Done(reduce, output);  // repeated, as after a reconnection
  EXPECT_TRUE(Exists("/out/part-r-00000"));
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
}

TEST_F(JobTrackerTest, AReportFromTheWrongNodeChangesNothing) {
  const NodeId node = AddWorker("a", 1, 1);
  const NodeId other = AddWorker("b", 0, 0);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 1));
  LaunchOrder map = Take();
  map.node = other;
  Done(map);
  EXPECT_THAT(launches, IsEmpty());
}

TEST_F(JobTrackerTest, WhatTheUserMayNotReadOrWriteIsRefusedBeforeAnythingRuns) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  AddFile("/jobs/program", 1, {node});
  const dfs::Principal eve{.user = "eve", .groups = {}, .superuser = false};
  Step step = At();
  JobRequest request = Request("/mine/out", 1);
  request.executable.path = "/jobs/program";
  const auto submit = [&] { return jobs->Submit(request, &step, eve); };
  for (const char* closed : {"/in/text", "/in", "/jobs/program", "/jobs", "/"}) {
    const dfs::Mode before = files->names().Stat(closed)->mode;
    ASSERT_TRUE(files->SetMode(closed, closed == std::string("/") ? 0555 : 0700, &step.batch).ok());
    step.batch = {};
    const Result<JobId> refused = submit();
    EXPECT_EQ(refused.status().code(), StatusCode::kDenied) << closed;
    EXPECT_THAT(refused.status().message(), HasSubstr(closed));
    EXPECT_TRUE(step.batch.empty());
    EXPECT_FALSE(Exists("/mine"));
    ASSERT_TRUE(files->SetMode(closed, before, &step.batch).ok());
  }
  EXPECT_TRUE(submit().ok());
  EXPECT_EQ(files->names().Stat("/mine/out")->owner, "tester");
  EXPECT_TRUE(launches.empty());
}

TEST_F(JobTrackerTest, AnAttemptCommitsAndGivesUpNobodyElsesFiles) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 0));
  Step step = At();
  const dfs::FileId file = *files->Create("/anns", {.owner = "ann"}, step.now, &step.batch);
  Finish(std::move(step));
  const LaunchOrder launch = launches.at(0);
  DoneWith(launch, {{file, "part-m-00000", {}}});
  EXPECT_FALSE(Exists("/out/part-m-00000"));
  EXPECT_TRUE(files->names().FindOpen(file)) << "Ann goes on writing";
  EXPECT_EQ(jobs->Attempts(launch.attempt.task.job)->at(0).state, AttemptState::kFailed);
  DoneWith(launch, {{file, "part-m-00000", {}}});  // a late report
  EXPECT_TRUE(files->names().FindOpen(file));
}

// Returns counters whose names take this many bytes.
Counters Invented(std::size_t from, std::size_t count, std::size_t length) {
  Counters counters;
  for (std::size_t i = from; i < from + count; ++i) {
    std::string name = std::to_string(i);
    name.append(length - name.size(), '.');
    counters[{"g", name}] = 1;
  }
  return counters;
}

TEST_F(JobTrackerTest, ATaskThatCountsWhatIsInItsDataFails) {
  struct Case {
    std::size_t kept, names, shift, length;
    const char* refused;
  };
  // `kept` tasks report `names` counters each, of which `shift` are new every time; the next one is too much.
  const Case cases[] = {{0, 1001, 0, 10, "more than 1000 of them"},
                        {2, 999, 999, 10, "more than 2000 different ones"},
                        {52, 1000, 0, 255, "more than 16777216 bytes"}};
  const NodeId node = AddWorker("a", 60, 1);
  AddFile("/in/text", 60, {node});
  for (const Case& c : cases) {
    launches.clear();
    const JobId job = Submit(Request(std::string("/out") + c.refused, 1));
    ASSERT_THAT(launches, SizeIs(60));
    const std::vector<LaunchOrder> maps = launches;
    for (std::size_t i = 0; i <= c.kept; ++i) {
      Step step = At();
      jobs->AttemptDone(node, maps[i].attempt, {.counters = Invented(i * c.shift, c.names, c.length)}, {}, &step);
      Finish(std::move(step));
      const AttemptRecord attempt = jobs->Attempts(job)->at(i);
      EXPECT_EQ(attempt.state, i < c.kept ? AttemptState::kSucceeded : AttemptState::kFailed) << c.refused;
      EXPECT_THAT(attempt.reason, HasSubstr(i < c.kept ? "" : c.refused));
    }
    Step step = At();
    jobs->AttemptDone(node, maps[c.kept + 1].attempt, {.counters = Invented(0, 1, 10)}, {}, &step);
    Finish(std::move(step));
    EXPECT_EQ(jobs->Attempts(job)->at(c.kept + 1).state, AttemptState::kSucceeded) << "modest ones go on";
    ASSERT_TRUE(jobs->Kill(job, "test", &step).ok());
    Finish(std::move(step));
  }
}

TEST_F(JobTrackerTest, WhatItWroteBeforeAnotherProcessOfTheMasterGoesWithIt) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 0));
  const LaunchOrder map = Take();
  const AttemptOutput part = WriteOutput(map.attempt, "part-m-00000");
  Restart();
  Step step = At();
  (void)jobs->NodeRegistered(*nodes->Find(node), {{}, {map.attempt}, {}, {}}, &step);
  Finish(std::move(step));
  ComeBack(node);
  Step done = At();
  jobs->AttemptDone(node, map.attempt, {.counters = Invented(0, kMostCountersOfTask + 1, 10)}, {part}, &done);
  Finish(std::move(done));
  EXPECT_EQ(jobs->Attempts(map.attempt.task.job)->at(0).state, AttemptState::kFailed);
  EXPECT_FALSE(files->names().FindOpen(part.file).has_value());
}

TEST_F(JobTrackerTest, AFailedJobRemovesItsOwnersOutputAlone) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 0));
  Step step = At();
  ASSERT_TRUE(files->Rename("/out", "/away", step.now, &step.batch).ok());
  ASSERT_TRUE(files->MakeDirectory("/out", "ann", step.now, &step.batch).ok());
  ASSERT_TRUE(jobs->Kill(job, "test", &step).ok());
  Finish(std::move(step));
  EXPECT_TRUE(Exists("/out")) << "it is Ann's by now";
}

TEST_F(JobTrackerTest, ExistingOutputAndMissingInputAreRefusedAndLeaveNothing) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  AddFile("/taken/file", 1, {node});
  Step step = At();
  const Result<JobId> taken = jobs->Submit(Request("/taken", 1), &step);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), StatusCode::kExists);
  EXPECT_THAT(taken.status().message(), HasSubstr("/taken"));
  JobRequest missing = Request("/out", 1);
  missing.inputs = {"/nowhere"};
  const Result<JobId> none = jobs->Submit(missing, &step);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("/nowhere"));
  EXPECT_FALSE(Exists("/out"));
  EXPECT_TRUE(step.batch.empty());
}

// Clients look at all this, but those of an earlier version do not.
TEST_F(JobTrackerTest, PlacesThatWouldFailAJobAtItsEndAreRefused) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Step step = At();
  const auto refused = [&](const JobRequest& request) {
    const Result<JobId> job = jobs->Submit(request, &step);
    EXPECT_TRUE(step.batch.empty());
    return job.ok() ? std::string("it was taken") : job.status().message();
  };
  for (const char* url : {"s3://bucket/out", "/s3://bucket/out", "/hdfs://one/x", "/file:///x"}) {
    EXPECT_THAT(refused(Request(url, 1)), HasSubstr("URL"));
    JobRequest input = Request("/out", 1);
    input.inputs = {"/in/text", url};
    EXPECT_THAT(refused(input), HasSubstr("URL"));
  }
  const std::pair<const char*, const char*> options[] = {
      {"output.block_size", "1000"},   {"output.block_size", "1048575"}, {"output.block_size", "2G"},
      {"output.block_size", "many"},   {"output.replication", "65"},     {"output.replication", "-1"},
      {"output.replication", "three"},
  };
  for (const auto& [name, value] : options) {
    JobRequest request = Request("/out", 1);
    request.parameters.emplace_back(name, value);
    EXPECT_THAT(refused(request), HasSubstr(std::string("option ") + name)) << value;
  }
  std::string deep;
  while (deep.size() + 201 <= 4000) deep += "/" + std::string(200, 'd');
  EXPECT_THAT(refused(Request(deep, 1)), HasSubstr("too long"));
  EXPECT_FALSE(Exists(deep));

  JobRequest request = Request("/a:/b", 1);  // no URL
  request.parameters = {{"output.block_size", "0"}, {"output.block_size", "1M"}, {"output.replication", "64"}};
  EXPECT_TRUE(jobs->Submit(request, &step).ok());
}

TEST_F(JobTrackerTest, ATaskThatFailsFourTimesFailsTheJobAndItsOutputGoes) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  for (int i = 0; i < 4; ++i) {
    Fail(Take(), "exit status 3");
    now += 30 * kSecond;  // it pauses in between
    Finish(At());
  }
  const Result<JobView> view = jobs->View(job);
  EXPECT_EQ(view->state, JobState::kFailed);
  EXPECT_THAT(view->record->outcome->reason, HasSubstr("exit status 3"));
  EXPECT_FALSE(Exists("/out"));
  EXPECT_THAT(launches, IsEmpty());
}

TEST_F(JobTrackerTest, AFailedAttemptsFileIsGivenUp) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 1));
  Done(Take());
  const LaunchOrder reduce = Take();
  const AttemptOutput output = WriteOutput(reduce.attempt, "part-r-00000");
  Fail(reduce, "killed by signal 9");
  EXPECT_FALSE(files->names().FindOpen(output.file).has_value());
  const std::vector<dfs::DeleteWork> leftovers = files->TakeLeftovers();
  ASSERT_THAT(leftovers, SizeIs(1)) << "what it wrote is to be deleted";
  EXPECT_EQ(leftovers[0].blocks, std::vector<dfs::BlockId>{output.blocks[0].id});
  const LaunchOrder again = Take();
  EXPECT_EQ(again.attempt.number, 1u);
  Done(again, WriteOutput(again.attempt, "part-r-00000"));
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
}

TEST_F(JobTrackerTest, NamedOutputsAppearWithThePartFile) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 1));
  Done(Take());
  const LaunchOrder reduce = Take();
  const AttemptOutput part = WriteOutput(reduce.attempt, "part-r-00000");
  const AttemptOutput late = WriteOutput(reduce.attempt, "late-r-00000");
  const AttemptOutput forgotten = WriteOutput(reduce.attempt, "lost-r-00000");
  DoneWith(reduce, {part, late});
  DoneWith(reduce, {part, late});  // repeated
  for (int process = 0; process < 2; ++process) {
    EXPECT_TRUE(Exists("/out/part-r-00000"));
    EXPECT_TRUE(Exists("/out/late-r-00000"));
    EXPECT_TRUE(Exists("/out/_SUCCESS"));
    EXPECT_FALSE(Exists("/out/lost-r-00000")) << "it was handed over, and is no part of what the attempt reported";
    EXPECT_THAT(files->names().OpenFiles(), IsEmpty());
    Restart();
  }
}

TEST_F(JobTrackerTest, IfANamedOutputCannotAppearNothingDoes) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 1));
  Done(Take());
  const LaunchOrder reduce = Take();
  const AttemptOutput part = WriteOutput(reduce.attempt, "part-r-00000");
  const AttemptOutput late = WriteOutput(reduce.attempt, "late-r-00000");
  AddFile("/out/late-r-00000", 1, {node});  // somebody's
  DoneWith(reduce, {part, late});
  EXPECT_FALSE(Exists("/out/part-r-00000"));
  EXPECT_THAT(files->names().OpenFiles(), IsEmpty()) << "both are given up";
  const LaunchOrder again = Take();
  EXPECT_EQ(again.attempt.number, 1u);
  DoneWith(again, {WriteOutput(again.attempt, "part-r-00000")});
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
}

TEST_F(JobTrackerTest, AMasterThatDiesBeforeItsStepIsStoredHasCommittedNothing) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  const LaunchOrder map = Take();
  Done(map);
  const LaunchOrder reduce = Take();
  const AttemptOutput part = WriteOutput(reduce.attempt, "part-r-00000");
  const AttemptOutput late = WriteOutput(reduce.attempt, "late-r-00000");
  Step lost = At();
  jobs->AttemptDone(reduce.node, reduce.attempt, {}, {part, late}, &lost);
  EXPECT_TRUE(Exists("/out/late-r-00000")) << "in memory; nobody is told before it is stored";
  Restart();
  EXPECT_FALSE(Exists("/out/part-r-00000"));
  EXPECT_FALSE(Exists("/out/late-r-00000"));
  // The worker was not answered, so it has kept the report, and makes it again.
  Step step = At();
  const auto reconciled = jobs->NodeRegistered(*nodes->Find(node), {{}, {reduce.attempt}, {}, {map.attempt}}, &step);
  EXPECT_THAT(reconciled.killed, IsEmpty());
  Finish(std::move(step));
  ComeBack(node);
  DoneWith(reduce, {part, late});
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
  EXPECT_TRUE(Exists("/out/part-r-00000"));
  EXPECT_TRUE(Exists("/out/late-r-00000"));
}

TEST_F(JobTrackerTest, TheSameTokenIsTheSameJob) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/out", 1);
  request.token = "t1";
  const JobId job = Submit(request);
  EXPECT_EQ(Submit(request), job);
  Restart();
  EXPECT_EQ(Submit(request), job) << "after a restart too";
}

TEST_F(JobTrackerTest, KillEndsAttemptsAndRemovesOutput) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  const JobId job = Submit(Request("/out", 1));
  Step step = At();
  ASSERT_TRUE(jobs->Kill(job, "by test", &step).ok());
  Finish(std::move(step));
  EXPECT_THAT(kills, SizeIs(1));
  EXPECT_EQ(jobs->View(job)->state, JobState::kKilled);
  EXPECT_FALSE(Exists("/out"));
  Step again = At();
  EXPECT_EQ(jobs->Kill(job, "twice", &again).code(), StatusCode::kInvalid);
}

TEST_F(JobTrackerTest, AKilledJobTellsWhatWasDone) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 5, {node});
  JobRequest request = Request("/out", 4);
  request.slow_start = 1;
  const JobId job = Submit(request);
  Done(Take());
  Take();  // runs when the job is killed, so that it does not count
  Step step = At();
  ASSERT_TRUE(jobs->Kill(job, "by test", &step).ok());
  Finish(std::move(step));
  for (const char* when : {"at once", "after a restart"}) {
    const auto view = jobs->View(job);
    EXPECT_EQ(view->maps.done, 1u) << when;
    EXPECT_EQ(view->maps.total, 5u) << when;
    EXPECT_DOUBLE_EQ(view->maps.fraction, 0.2) << when;
    EXPECT_EQ(view->reduces.fraction, 0) << when;
    EXPECT_EQ(view->copy_fraction, 0) << when;
    Restart();
  }
}

// A master on a full disk must not find out when memory has changed.
TEST_F(JobTrackerTest, HowMuchAKillWritesIsKnownBefore) {
  const NodeId node = AddWorker("a", 50, 1);
  AddFile("/in/text", 50, {node});
  JobRequest request = Request("/out", 1);
  request.parameters.emplace_back("of.the.user", std::string(100'000, 'p'));
  const JobId job = Submit(request);
  ASSERT_THAT(launches, SizeIs(Ge(50u)));
  for (int i = 0; i < 40; ++i) Done(Take());
  const LaunchOrder left = Take();
  for (int i = 0; i < 20; ++i) WriteOutput(left.attempt, "part" + std::to_string(i));
  const std::uint64_t known = jobs->BytesToKill(job);
  Step step = At();
  ASSERT_TRUE(jobs->Kill(job, std::string(1000, 'w'), &step).ok());
  EXPECT_GE(known, SpareLog::BytesOf(step.batch));
  EXPECT_LE(known, SpareLog::BytesOf(step.batch) + 60'000);
  Finish(std::move(step));
  EXPECT_EQ(jobs->BytesToKill(job), 0u);
}

TEST_F(JobTrackerTest, AJobGoesOnAfterTheMasterDied) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 3, {node});
  const JobId job = Submit(Request("/out", 1));
  const LaunchOrder first = Take();
  Done(first, std::nullopt, 10);
  const LaunchOrder second = Take();
  const LaunchOrder reduce = Take();  // slow start: one of three maps is done
  ASSERT_EQ(reduce.attempt.task.kind, TaskKind::kReduce);
  Restart();
  EXPECT_EQ(jobs->EngineNodes(), std::vector<NodeId>{node});
  EXPECT_EQ(jobs->View(job)->maps.done, 1u);
  // The same incarnation registers again and still runs what it ran.
  Step step = At();
  const auto reconciled =
      jobs->NodeRegistered(*nodes->Find(node), {{second.attempt, reduce.attempt}, {}, {}, {first.attempt}}, &step);
  EXPECT_THAT(reconciled.killed, IsEmpty());
  EXPECT_THAT(reconciled.forgotten, IsEmpty());
  Finish(std::move(step));
  EXPECT_THAT(launches, IsEmpty()) << "slots are taken";
  files->blocks().NodeUp(node, {"/rack", "/dc"});
  files->blocks().NodeSpace(node, std::uint64_t{1} << 40);
  Done(second, std::nullopt, 20);
  Done(Take(), std::nullopt, 30);
  Done(reduce, WriteOutput(reduce.attempt, "part-r-00000"), 5);
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
  EXPECT_EQ((*jobs->JobCounters(job))[std::make_pair("millrace", "records")], 10 + 20 + 30 + 5);
  Restart();
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
  EXPECT_TRUE(Exists("/out/_SUCCESS"));
  EXPECT_EQ((*jobs->JobCounters(job))[std::make_pair("millrace", "records")], 65);
  EXPECT_THAT(*jobs->Attempts(job), SizeIs(4)) << "from the journal";
}

// While a worker was away, outputs may have become ready that its reduces wait for.
TEST_F(JobTrackerTest, AReturningWorkerIsToldAllMapOutputsAgain) {
  const NodeId node = AddWorker("a", 1, 0);
  const NodeId reducing = AddWorker("b", 0, 1);
  AddFile("/in/text", 2, {node});
  JobRequest request = Request("/out", 1);
  request.slow_start = 0;
  const JobId job = Submit(request);
  ASSERT_THAT(launches, SizeIs(2));
  const LaunchOrder map = launches[0], reduce = launches[1];
  ASSERT_EQ(reduce.node, reducing);
  Done(map);
  outputs.clear();
  Step step = At();
  jobs->NodeRegistered(*nodes->Find(reducing), {{reduce.attempt}, {}, {}, {}}, &step);
  Finish(std::move(step));
  const auto told = outputs.find({reducing, job});
  ASSERT_NE(told, outputs.end());
  ASSERT_THAT(told->second.ready, SizeIs(1));
  EXPECT_EQ(told->second.ready[0].first, map.attempt);
}

TEST_F(JobTrackerTest, AttemptsThatAReturningWorkerDoesNotKnowRunAgain) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/out", 1));
  const LaunchOrder map = Take();
  Step step = At();
  const AttemptId stray{{JobId{77}, TaskKind::kMap, 0}, 0};
  const auto reconciled = jobs->NodeRegistered(*nodes->Find(node), {{stray}, {}, {}, {}}, &step);
  Finish(std::move(step));
  EXPECT_THAT(reconciled.killed, IsEmpty());
  EXPECT_EQ(reconciled.forgotten, std::vector<JobId>{JobId{77}});
  EXPECT_EQ(Take().attempt, (AttemptId{map.attempt.task, 1}));
}

TEST_F(JobTrackerTest, ANewIncarnationLostItsMapOutputs) {
  const NodeId node = AddWorker("a", 1, 0);
  const NodeId other = AddWorker("b", 0, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  Done(Take());
  EXPECT_EQ(Take().node, other);  // the reduce
  EXPECT_EQ(jobs->View(job)->maps.done, 1u);
  Step step = At();
  WorkerFacts facts = nodes->Find(node)->facts;
  facts.incarnation = 2;
  jobs->NodeRegistered(nodes->Admit(facts, &step.batch), {}, &step);
  Finish(std::move(step));
  EXPECT_EQ(jobs->View(job)->maps.done, 0u);
  EXPECT_EQ(Take().attempt.number, 1u);
}

TEST_F(JobTrackerTest, ATaskThatTakesDownThreeWorkersFailsItsJobAcrossRestartsOfTheMaster) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  for (std::uint64_t incarnation = 2; incarnation <= 4; ++incarnation) {
    ASSERT_EQ(jobs->View(job)->state, JobState::kRunning);
    const LaunchOrder map = Take();
    Restart();  // which is nobody's death
    Step step = At();
    jobs->NodeRegistered(*nodes->Find(node), {{map.attempt}, {}, {}, {}}, &step);
    WorkerFacts facts = nodes->Find(node)->facts;
    facts.incarnation = incarnation;
    jobs->NodeRegistered(nodes->Admit(facts, &step.batch), {}, &step);
    Finish(std::move(step));
  }
  EXPECT_EQ(jobs->View(job)->state, JobState::kFailed);
  EXPECT_THAT(jobs->View(job)->record->outcome->reason, HasSubstr("m.0 was lost with its worker 3 times"));
  Restart();
  EXPECT_EQ(jobs->View(job)->state, JobState::kFailed);
}

// Reduces are told before and after a restart.
TEST_F(JobTrackerTest, AJobGoesOnWithoutMapsThatFailed) {
  const NodeId node = AddWorker("a", 1, 0);
  const NodeId reducing = AddWorker("b", 0, 1);
  AddFile("/in/text", 2, {node});
  JobRequest request = Request("/out", 1);
  request.slow_start = 0;
  request.max_attempts = 2;
  request.max_failed_maps = 50;
  const JobId job = Submit(request);
  ASSERT_THAT(launches, SizeIs(2));
  const LaunchOrder map = Take(), reduce = Take();
  ASSERT_EQ(reduce.node, reducing);
  Fail(map, "exit status 3");
  outputs.clear();
  Fail(Take(), "exit status 3");
  EXPECT_THAT(outputs.at({reducing, job}).left_out, ElementsAre(0));
  const std::vector<LeftOutMap> left_out = {{0, "/in/text, bytes 0 to 1048576"}};
  const auto expect_left_out = [&] {
    EXPECT_EQ(jobs->View(job)->figures.maps_left_out, 1u);
    EXPECT_EQ(jobs->View(job)->record->left_out, left_out);
    EXPECT_EQ((*jobs->JobCounters(job))[std::make_pair("millrace", "maps_left_out")], 1);
  };
  expect_left_out();
  EXPECT_EQ(jobs->View(job)->maps.done, 1u);
  const LaunchOrder other = Take();
  Restart();
  ComeBack(node);
  ComeBack(reducing);
  outputs.clear();
  Step step = At();
  jobs->NodeRegistered(*nodes->Find(node), {{other.attempt}, {}, {}, {}}, &step);
  jobs->NodeRegistered(*nodes->Find(reducing), {{reduce.attempt}, {}, {}, {}}, &step);
  Finish(std::move(step));
  EXPECT_THAT(outputs.at({reducing, job}).left_out, ElementsAre(0));
  expect_left_out();
  Done(other);
  Done(reduce, WriteOutput(reduce.attempt, "part-r-00000"));
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
  expect_left_out();
  Restart();
  expect_left_out();
}

// There are two bad records, and a restart between each attempt and the next.
TEST_F(JobTrackerTest, RecordsThatFailedTwiceAreLeftOutAcrossRestarts) {
  const NodeId node = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/out", 1);
  request.max_attempts = 1;
  request.skip_bad_records = 2;
  const JobId job = Submit(request);
  const auto fail = [&](std::uint64_t offset) {
    const LaunchOrder map = Take();
    Step step = At();
    jobs->AttemptFailed(node, map.attempt, false, "signal 6", &step, sched::RecordPlace{0, offset, 0});
    Finish(std::move(step));
    Restart();
    ComeBack(node);
    Step back = At();
    jobs->NodeRegistered(*nodes->Find(node), {{launches.back().attempt}, {}, {}, {}}, &back);
    Finish(std::move(back));
  };
  fail(500);
  EXPECT_THAT(jobs->LeftOutBy(launches.back().attempt), IsEmpty());
  EXPECT_EQ(jobs->Attempts(job)->front().reason, "at the record at byte 500 of /in/text: signal 6");
  fail(500);
  EXPECT_THAT(jobs->LeftOutBy(launches.back().attempt), ElementsAre(sched::RecordPlace{0, 500, 0}));
  fail(7);
  fail(7);
  EXPECT_THAT(jobs->LeftOutBy(launches.back().attempt),
              ElementsAre(sched::RecordPlace{0, 7, 0}, sched::RecordPlace{0, 500, 0}));
  EXPECT_EQ(launches.back().attempt.number, 4u);
  const std::vector<LeftOutRecord> left_out = {{0, "/in/text", 7}, {0, "/in/text", 500}};
  EXPECT_EQ(jobs->View(job)->left_out_records, left_out);
  Step step = At();
  ASSERT_TRUE(jobs->Kill(job, "a test wants it", &step).ok());
  Finish(std::move(step));
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(jobs->View(job)->left_out_records, left_out) << "it is known when the job has ended";
    EXPECT_EQ(jobs->View(job)->figures.records_left_out, 2u);
    Restart();
  }
}

TEST_F(JobTrackerTest, AFailureThatWouldComeAgainEndsTheJobAndIsToldAsOne) {
  const NodeId node = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 1));
  Step step = At();
  jobs->AttemptFailed(node, Take().attempt, false, "no text", &step, std::nullopt, true);
  Finish(std::move(step));
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(jobs->View(job)->state, JobState::kFailed);
    EXPECT_EQ(jobs->View(job)->record->outcome->reason,
              "task " + ToText(job) + ".m.0 failed and is not tried again, since it would fail again: no text");
    EXPECT_EQ(jobs->View(job)->figures.failed_attempts, 1u);
    Restart();
  }
}

// The master must cope with anything that a worker may say.
TEST_F(JobTrackerTest, ARecordThatIsNotInTheMapsInputIsNotBelieved) {
  const NodeId node = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/out", 1);
  request.max_attempts = 2;
  request.skip_bad_records = 1;
  const JobId job = Submit(request);
  for (const sched::RecordPlace& record : {sched::RecordPlace{1, 0, 0}, sched::RecordPlace{7, 0, 0}}) {
    Step step = At();
    jobs->AttemptFailed(node, Take().attempt, false, "signal 6", &step, record);
    Finish(std::move(step));
  }
  EXPECT_EQ(jobs->View(job)->state, JobState::kFailed) << "both counted";
  EXPECT_EQ(jobs->Attempts(job)->front().reason, "signal 6");
}

// Its output was counted and then lost; now nothing of it counts.
TEST_F(JobTrackerTest, AMapThatIsLeftOutCountsForNothing) {
  const NodeId node = AddWorker("a", 1, 0);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/out", 1);
  request.max_attempts = 1;
  request.max_failed_maps = 100;
  const JobId job = Submit(request);
  Done(Take(), std::nullopt, 7);
  EXPECT_EQ(jobs->View(job)->figures.bytes_read, 100u);
  Step step = At();
  jobs->NodeRegistered(*nodes->Find(node), {}, &step);  // it does not have the output any more
  Finish(std::move(step));
  Fail(Take(), "exit status 3");
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(jobs->View(job)->figures.maps_left_out, 1u);
    EXPECT_EQ(jobs->View(job)->figures.bytes_read, 0u);
    EXPECT_FALSE(jobs->JobCounters(job)->contains({"millrace", "records"}));
    Restart();
  }
}

TEST_F(JobTrackerTest, AJobWithoutReducesWritesPartsOfMaps) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 0));
  const LaunchOrder map = Take();
  Done(map, WriteOutput(map.attempt, "part-m-00000"));
  EXPECT_TRUE(Exists("/out/part-m-00000"));
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
}

TEST_F(JobTrackerTest, AnEmptyInputStillMakesAnOutput) {
  AddWorker("a", 1, 1);
  AddFile("/in/empty", 0, {1_n});
  const JobId job = Submit(Request("/out", 1));
  const LaunchOrder reduce = Take();
  ASSERT_EQ(reduce.attempt.task.kind, TaskKind::kReduce);
  Done(reduce, WriteOutput(reduce.attempt, "part-r-00000"));
  EXPECT_EQ(jobs->View(job)->state, JobState::kSucceeded);
}

// There are 100 files, each on two of three nodes, so that any two nodes have a third of the files in common.
TEST_F(JobTrackerTest, SmallFilesShareMapsWhereTheyAreTogether) {
  const NodeId a = AddWorker("a", 2, 1), b = AddWorker("b", 2, 1), holder = AddWorker("c", 0, 0);
  const std::vector<std::vector<NodeId>> places = {{a, b}, {b, holder}, {holder, a}};
  for (int i = 0; i < 100; ++i) AddFile("/in/f" + std::to_string(i), 1, places[i % 3]);
  JobRequest request = Request("/out", 1);
  request.pack = std::uint64_t{64} << 20;
  const JobId job = Submit(request);
  // With 100 MiB and four slots, a map has at most 12 files.
  const std::vector<sched::MapInput> inputs = jobs->cluster().FindJob(job)->spec.maps;
  EXPECT_THAT(inputs.size(), AllOf(Ge(9u), Le(12u)));
  const std::vector<MapSplits> maps = *jobs->Splits(job);
  ASSERT_EQ(maps.size(), inputs.size());
  std::set<std::string> read;
  for (std::size_t m = 0; m < maps.size(); ++m) {
    EXPECT_EQ(inputs[m].bytes, maps[m].size() << 20);
    EXPECT_LE(maps[m].size(), 12u);
    EXPECT_THAT(inputs[m].replicas, Not(IsEmpty()));
    for (const Split& split : maps[m]) {
      const std::vector<NodeId> on = files->Holders(split.blocks.front().id);
      for (const NodeId node : inputs[m].replicas) EXPECT_THAT(on, Contains(node));
      EXPECT_TRUE(read.insert(split.path).second) << split.path;
    }
  }
  EXPECT_THAT(read, SizeIs(100));
  EXPECT_EQ(jobs->View(job)->maps.total, inputs.size());
  EXPECT_EQ(jobs->View(job)->figures.input_bytes, std::uint64_t{100} << 20);
  Restart();
  EXPECT_EQ(EncodeSplits(*jobs->Splits(job)), EncodeSplits(maps));
  EXPECT_EQ(jobs->cluster().FindJob(job)->spec.maps, inputs);
}

TEST_F(JobTrackerTest, OnlyTextAndWholeFilesShareMaps) {
  const NodeId node = AddWorker("a", 1, 1);
  for (int i = 0; i < 8; ++i) AddFile("/in/f" + std::to_string(i), 1, {node});
  std::vector<InputCut> cuts;
  const auto maps = [&](SplitBy split_by, std::uint64_t pack) {
    JobRequest request = Request("/out" + std::to_string(now), 0);
    request.cuts = cuts;
    request.split_by = split_by;
    request.record_bytes = 1;
    request.pack = pack;
    return jobs->Splits(Submit(request))->size();
  };
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  EXPECT_EQ(maps(SplitBy::kBlock, 0), 8u);
  EXPECT_EQ(maps(SplitBy::kBlock, 64 * kMiB), 2u);
  EXPECT_EQ(maps(SplitBy::kBlock, 2 * kMiB), 4u);
  EXPECT_EQ(maps(SplitBy::kFile, 64 * kMiB), 2u);
  EXPECT_EQ(maps(SplitBy::kFixed, 64 * kMiB), 8u);
  cuts = {{SplitBy::kFile}};
  EXPECT_EQ(maps(SplitBy::kFixed, 64 * kMiB), 2u) << "as the mapper of the input says";
}

TEST_F(JobTrackerTest, OldJobsAreForgotten) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  JobId first{0};
  for (int i = 0; i < 102; ++i) {
    JobRequest request = Request("/out" + std::to_string(i), 0);
    const JobId job = Submit(request);
    if (i == 0) first = job;
    Done(Take());
  }
  EXPECT_FALSE(jobs->View(first).ok());
  std::vector<std::string> lines;
  Restart();
  EXPECT_FALSE(jobs->View(first).ok());
  EXPECT_THAT(jobs->JobsAfter(JobId{0}, 1000, false), SizeIs(::testing::Le(101u)));
}

TEST_F(JobTrackerTest, HistoryIsTheJournalOfTheJob) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 0));
  Done(Take());
  const auto page = jobs->History(job, 0, 0, 100);
  ASSERT_TRUE(page.ok());
  EXPECT_FALSE(page->more);
  ASSERT_THAT(page->lines, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<sched::JobSubmitted>(sched::ParseEvent(page->lines[0].second)->event));
  EXPECT_TRUE(std::holds_alternative<sched::AttemptLaunched>(sched::ParseEvent(page->lines[1].second)->event));
  EXPECT_TRUE(std::holds_alternative<sched::AttemptSucceeded>(sched::ParseEvent(page->lines[2].second)->event));
}

TEST_F(JobTrackerTest, HistoryComesInPages) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/out", 0));
  Done(Take());
  const auto first = jobs->History(job, 0, 0, 1);
  EXPECT_TRUE(first->more);
  ASSERT_THAT(first->lines, SizeIs(1));
  EXPECT_EQ(first->next, first->lines[0].first);
  const auto rest = jobs->History(job, first->next, 0, 100);
  EXPECT_FALSE(rest->more);
  ASSERT_THAT(rest->lines, SizeIs(2));
  EXPECT_GT(rest->lines[0].first, first->next);
  const auto tail = jobs->History(job, first->next, 4, 100);
  EXPECT_EQ(tail->lines[0].second, rest->lines[0].second.substr(4)) << "from within a line";
  EXPECT_EQ(tail->lines[1].second, rest->lines[1].second);
  EXPECT_FALSE(jobs->History(JobId{0}, 0, 0, 100)->lines.empty()) << "of nodes and schedulers";
  EXPECT_FALSE(jobs->History(JobId{99}, 0, 0, 100).ok());
}

}  // namespace
}  // namespace millrace::master
