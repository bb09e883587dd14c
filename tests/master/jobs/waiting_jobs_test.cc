// SPDX-License-Identifier: Apache-2.0
// Tests jobs that run after others, and jobs that are held: the tracker keeps them until they may start.
#include "master/jobs/waiting_jobs.h"

#include <gmock/gmock.h>

#include "base/kv/spare_log.h"
#include "base/random.h"
#include "schedulers/cluster/cluster_state.h"
#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class WaitingJobsTest : public TrackerFixture {
 protected:
  JobRequest After(const std::vector<JobId>& others, const std::string& output, const std::string& input = "/in/text") {
    JobRequest request = Request(output, 0);
    request.inputs = {input};
    request.after = others;
    return request;
  }
  Status Refused(const JobRequest& request) {
    Step step = At();
    const Result<JobId> submitted = jobs->Submit(request, &step);
    EXPECT_TRUE(step.batch.empty());
    return submitted.status();
  }
  // The worker is back after a restart. A master whose engine had no job learns only now that there is a worker.
  void BackAgain(NodeId node) {
    ComeBack(node);
    if (!jobs->EngineNodes().empty()) return;
    Step step = At();
    jobs->NodeRegistered(*nodes->Find(node), {}, &step);
    Finish(std::move(step));
  }
  // Lets all that was launched end well; each attempt writes a file.
  void EndAll() {
    while (!launches.empty()) {
      const LaunchOrder next = launches.front();
      launches.erase(launches.begin());
      Done(next, WriteOutput(next.attempt, "part-m-" + std::to_string(next.attempt.task.index)));
    }
  }
  void Kill(JobId job) {
    Step step = At();
    ASSERT_TRUE(jobs->Kill(job, "by test", &step).ok());
    Finish(std::move(step));
  }
  Status Hold(JobId job, master::Hold by = master::Hold::kOwner) {
    Step step = At();
    Status held = jobs->HoldJob(job, by, &step);
    Finish(std::move(step));
    return held;
  }
  Status Release(JobId job) {
    Step step = At();
    Status released = jobs->ReleaseJob(job, &step);
    Finish(std::move(step));
    return released;
  }
  JobState StateOf(JobId job) { return jobs->View(job)->state; }
  std::string ReasonOf(JobId job) { return StatusOf(*jobs->View(job)).reason; }
};

TEST_F(WaitingJobsTest, AJobReadsWhatTheJobBeforeItWrote) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 2, {node});
  const JobId first = Submit(Request("/one", 0));
  const JobId second = Submit(After({first}, "/two", "/one"));
  EXPECT_EQ(StateOf(second), JobState::kWaiting);
  EXPECT_EQ(ReasonOf(second), "waits for job1 to succeed");
  EXPECT_FALSE(Exists("/two")) << "it is made when the job starts";
  EXPECT_THAT(launches, SizeIs(2)) << "of the first alone";
  const Micros before = now;
  EndAll();
  EXPECT_EQ(StateOf(first), JobState::kSucceeded);
  EXPECT_EQ(StateOf(second), JobState::kSucceeded);
  EXPECT_TRUE(Exists("/two/_SUCCESS"));
  const JobStatus status = StatusOf(*jobs->View(second));
  EXPECT_EQ(status.maps.total, 2u) << "a map for each file of the first";
  EXPECT_THAT(status.after, ElementsAre(first));
  EXPECT_THAT(status.waits_for, IsEmpty());
  EXPECT_GT(status.queued, before);
  EXPECT_GE(status.first_launch, status.queued);
}

TEST_F(WaitingJobsTest, WhatHasEndedAlreadyCountsAtOnce) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId good = Submit(Request("/good", 0));
  EndAll();
  const JobId bad = Submit(Request("/bad", 0));
  Kill(bad);
  launches.clear();
  const JobId after_good = Submit(After({good}, "/a"));
  EXPECT_EQ(StateOf(after_good), JobState::kRunning);
  EXPECT_THAT(Refused(After({bad}, "/b")).message(), HasSubstr("job2, which was killed; with --even-if-failed"));
  JobRequest even = After({bad, good}, "/c");
  even.even_if_failed = true;
  EXPECT_EQ(Refused(After({JobId{77}}, "/d")).code(), StatusCode::kNotFound);
  EXPECT_EQ(StateOf(Submit(even)), JobState::kRunning);
  EXPECT_THAT(Refused(After({good}, "/d", "/none")).message(), HasSubstr("/none")) << "it would start now";
}

TEST_F(WaitingJobsTest, AJobOfWhichNobodyKnowsHowItEndedIsRefused) {
  history_jobs = 1;
  Restart();
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId old = Submit(Request("/old", 0));
  EndAll();
  Submit(Request("/next", 0));
  EndAll();
  Finish(At());
  ASSERT_FALSE(jobs->View(old).ok());
  EXPECT_THAT(Refused(After({old}, "/a")).message(), HasSubstr("no longer remembered, nor how it ended"));
}

TEST_F(WaitingJobsTest, AForgottenJobIsToldFromOneThatNeverWas) {
  history_jobs = 1;
  Restart();
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId old = Submit(Request("/old", 0));
  EndAll();
  const JobId last = Submit(Request("/next", 0));
  EndAll();
  Finish(At());
  Step step = At();
  const std::vector<Status> about = {jobs->View(old).status(), jobs->JobCounters(old).status(),
                                     jobs->Attempts(old).status(), jobs->History(old, 0, 0, 1000).status(),
                                     jobs->Kill(old, "", &step)};
  for (const Status& status : about) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("job1: if there was such a job, it is no longer remembered"),
                                        HasSubstr("keeps the last 1 ended job (master.history_jobs)")));
  }
  EXPECT_TRUE(jobs->View(last).ok());
  for (const JobId never : {JobId{0}, JobId{last.value + 1}, JobId{99}})
    EXPECT_THAT(jobs->View(never).status().message(), HasSubstr("no such job"));
}

TEST_F(WaitingJobsTest, AFailureReachesAllThatWaitForIt) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  const JobId second = Submit(After({first}, "/two"));
  const JobId third = Submit(After({second}, "/three"));
  JobRequest any = After({second}, "/any");
  any.even_if_failed = true;
  const JobId cleaner = Submit(any);
  EXPECT_EQ(ReasonOf(third), "waits for job2 to succeed");
  EXPECT_EQ(ReasonOf(cleaner), "waits for job2 to end") << "in any way";
  const JobId other = Submit(After({cleaner, third}, "/last"));
  launches.clear();
  {
    Step step = At();
    // What is there by now at a path that a waiting job was to write is not its own.
    ASSERT_TRUE(files->MakeDirectory("/three", "ann", step.now, &step.batch).ok());
    Finish(std::move(step));
  }
  Kill(first);
  EXPECT_EQ(ReasonOf(second), "job1, after which it was to run, was killed");
  EXPECT_EQ(StateOf(second), JobState::kFailed);
  EXPECT_EQ(ReasonOf(third), "job2, after which it was to run, failed");
  EXPECT_EQ(ReasonOf(other), "job3, after which it was to run, failed");
  EXPECT_TRUE(Exists("/three"));
  EXPECT_EQ(StateOf(cleaner), JobState::kRunning) << "it runs however the second ended";
  EXPECT_TRUE(ended.contains(second) && ended.contains(third) && ended.contains(other));
  Restart();
  EXPECT_EQ(StateOf(third), JobState::kFailed);
  EXPECT_THAT(*jobs->Attempts(third), IsEmpty());
}

TEST_F(WaitingJobsTest, AJobThatCannotStartFailsAndSaysWhy) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  const JobId no_input = Submit(After({first}, "/two", "/nothing/here"));
  const JobId no_output = Submit(After({first}, "/three"));
  const JobId behind = Submit(After({no_input}, "/four"));
  EXPECT_THAT(Refused(After({first}, "/three")).message(), HasSubstr("job3, which has not ended, is to write it"));
  EXPECT_THAT(Refused(Request("/three", 0)).message(), HasSubstr("job3, which has not ended, is to write it"));
  {
    Step step = At();
    ASSERT_TRUE(files->MakeDirectory("/three", "ann", step.now, &step.batch).ok());
    Finish(std::move(step));
  }
  EndAll();
  EXPECT_EQ(StateOf(no_input), JobState::kFailed);
  EXPECT_THAT(ReasonOf(no_input), HasSubstr("it cannot start: "));
  EXPECT_THAT(ReasonOf(no_input), HasSubstr("/nothing/here"));
  EXPECT_EQ(StateOf(no_output), JobState::kFailed);
  EXPECT_THAT(ReasonOf(no_output), HasSubstr("exists already"));
  EXPECT_TRUE(Exists("/three")) << "it is Ann's";
  EXPECT_EQ(ReasonOf(behind), "job2, after which it was to run, failed");
}

// A job that fails removes its output with all that is in it, and another may read there.
TEST_F(WaitingJobsTest, NoJobWritesInsideOrAboveTheOutputOfAnother) {
  AddFile("/in/text", 1, {AddWorker("a", 1, 1)});
  const JobId first = Submit(Request("/a/one", 0));
  Submit(After({first}, "/b/two"));
  EXPECT_THAT(Refused(Request("/a/one/in", 0)).message(), HasSubstr("job1, which has not ended, writes to \"/a/one\""));
  EXPECT_THAT(Refused(Request("/b/two/in/deep", 0)).message(), HasSubstr("job2, which has not ended, writes to"));
  EXPECT_THAT(Refused(Request("/b", 0)).message(), HasSubstr("job2, which has not ended, writes to"));
  Submit(Request("/a/one2", 0));
  Submit(Request("/b/two-more", 0));
  Kill(first);
  Submit(Request("/a/one/in", 0));
}

TEST_F(WaitingJobsTest, TheOwnersRightsAreThoseOfTheStart) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  AddFile("/jobs/program", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  JobRequest request = After({first}, "/two");
  request.owner = "eve";
  request.executable.path = "/jobs/program";
  const JobId second = Submit(request);
  rights["eve"] = {.user = "eve", .groups = {}, .superuser = false};
  {
    Step step = At();
    ASSERT_TRUE(files->SetMode("/in", 0700, &step.batch).ok());
    Finish(std::move(step));
  }
  EndAll();
  EXPECT_EQ(StateOf(second), JobState::kFailed);
  EXPECT_THAT(ReasonOf(second), HasSubstr("/in"));
}

TEST_F(WaitingJobsTest, AMasterThatDiedBetweenTheEndAndTheStartStartsTheJob) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  const JobId second = Submit(After({first}, "/two", "/one"));
  const JobId third = Submit(After({second}, "/three", "/two"));
  EXPECT_THAT(jobs->NeededExecutables(), SizeIs(1));
  Restart();
  ComeBack(node);
  EXPECT_EQ(ReasonOf(third), "waits for job2 to succeed");
  may_start = false;
  EndAll();
  EXPECT_EQ(StateOf(first), JobState::kSucceeded);
  EXPECT_EQ(StateOf(second), JobState::kWaiting);
  EXPECT_THAT(ReasonOf(second), HasSubstr("is to start as soon as the master has heard"));
  EXPECT_TRUE(jobs->AnyDue());
  EXPECT_THAT(jobs->NeededExecutables(), SizeIs(1)) << "its executable must not be removed";
  Restart();
  BackAgain(node);
  Finish(At());
  EXPECT_EQ(StateOf(second), JobState::kWaiting) << "the places of blocks are not known yet";
  may_start = true;
  Finish(At());
  EXPECT_EQ(StateOf(second), JobState::kRunning);
  EXPECT_FALSE(jobs->AnyDue());
  Restart();
  ComeBack(node);
  EXPECT_EQ(StateOf(second), JobState::kRunning);
  EndAll();
  EXPECT_EQ(StateOf(third), JobState::kSucceeded);
  EXPECT_TRUE(Exists("/three/_SUCCESS"));
}

TEST_F(WaitingJobsTest, AWaitingJobMayBeKilledAndItsKillIsMeasuredBefore) {
  const NodeId node = AddWorker("a", 2, 1);
  AddFile("/in/text", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  JobRequest request = After({first}, "/two");
  request.parameters.emplace_back("of.the.user", std::string(50'000, 'p'));
  std::vector<JobId> chain = {Submit(request)};
  for (int i = 0; i < 3; ++i) {
    request.after = chain;
    request.output = "/more" + std::to_string(i);
    chain.push_back(Submit(request));
  }
  const std::uint64_t known = jobs->BytesToKill(chain[0]);
  Step step = At();
  ASSERT_TRUE(jobs->Kill(chain[0], std::string(1000, 'w'), &step).ok());
  jobs->Decide(&step);
  EXPECT_GE(known, SpareLog::BytesOf(step.batch));
  EXPECT_LE(known, SpareLog::BytesOf(step.batch) + 60'000);
  Finish(std::move(step));
  EXPECT_EQ(StateOf(chain[0]), JobState::kKilled);
  EXPECT_EQ(StateOf(chain[3]), JobState::kFailed);
  EXPECT_EQ(StateOf(first), JobState::kRunning);
  EXPECT_EQ(jobs->SetPriority(chain[0], 1, &step).code(), StatusCode::kInvalid);
}

TEST_F(WaitingJobsTest, AHeldJobWaitsForItsRelease) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId runs = Submit(Request("/one", 0));
  const JobId queued = Submit(Request("/two", 0));
  JobRequest request = Request("/three", 0);
  request.held = true;
  const JobId on_hold = Submit(request);
  const JobId after = Submit(After({runs}, "/four"));
  EXPECT_THAT(Hold(runs).message(), HasSubstr("runs already"));
  EXPECT_TRUE(Hold(queued).ok());
  EXPECT_TRUE(Hold(queued).ok()) << "again";
  EXPECT_TRUE(Hold(after, master::Hold::kOperator).ok());
  EXPECT_TRUE(Hold(after).ok());
  EXPECT_EQ(ReasonOf(queued), "is held, until `millrace job release 2`");
  EXPECT_EQ(ReasonOf(after), "waits for job1 to succeed, and then for its release; an operator holds it");
  EXPECT_EQ(StatusOf(*jobs->View(queued)).queued, 0) << "it waits for its release";
  EXPECT_EQ(StatusOf(*jobs->View(on_hold)).queued, 0);
  EndAll();
  EXPECT_THAT(launches, IsEmpty());
  for (const char* when : {"at once", "after a restart"}) {
    for (const JobId job : {queued, on_hold, after}) EXPECT_EQ(StateOf(job), JobState::kWaiting) << when;
    Restart();
    BackAgain(node);
    Finish(At());
  }
  EXPECT_EQ(jobs->FindRecord(after)->hold, master::Hold::kOperator);
  for (const JobId job : {queued, on_hold, after}) EXPECT_TRUE(Release(job).ok());
  EXPECT_THAT(Release(queued).message(), HasSubstr("is not held"));
  for (const JobId job : {queued, on_hold, after})
    EXPECT_GT(StatusOf(*jobs->View(job)).queued, jobs->FindRecord(job)->submitted) << "since its release";
  EndAll();
  for (const JobId job : {queued, on_hold, after}) EXPECT_EQ(StateOf(job), JobState::kSucceeded);
}

// Its waiting for slots counts from its release, but jobs that came after it stay behind it.
TEST_F(WaitingJobsTest, AJobThatWasHeldInTheQueueHasKeptItsPlace) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/one", 0));
  const JobId held = Submit(Request("/two", 0));
  EXPECT_TRUE(Hold(held).ok());
  const JobId later = Submit(Request("/three", 0));
  EXPECT_TRUE(Release(held).ok());
  EXPECT_GT(StatusOf(*jobs->View(held)).queued, StatusOf(*jobs->View(later)).queued);
  const LaunchOrder of_first = launches.front();
  launches.clear();
  Done(of_first, WriteOutput(of_first.attempt, "part-m-0"));
  ASSERT_THAT(launches, SizeIs(1));
  EXPECT_EQ(launches[0].attempt.task.job, held);
  EXPECT_EQ(StateOf(later), JobState::kWaiting);
  EndAll();
  EXPECT_THAT(EndLine(*jobs->FindRecord(held)), HasSubstr("was free to start "));
}

// What a waiting job has learnt of another's end outlives that job's record.
TEST_F(WaitingJobsTest, AJobThatIsForgottenIsNoLongerWaitedFor) {
  history_jobs = 1;
  Restart();
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  const JobId gate = Submit(Request("/gate", 0));
  const JobId last = Submit(After({first, gate}, "/last"));
  EXPECT_EQ(jobs->forgotten().last, JobId{});
  const LaunchOrder of_first = launches.front();
  launches.clear();
  Done(of_first);
  const Micros ended_at = jobs->FindRecord(first)->ended;
  EXPECT_EQ(ReasonOf(last), "waits for job2 to succeed");
  Submit(After({last}, "/more"));
  Kill(Submit(Request("/killed", 0)));
  Finish(At());
  ASSERT_FALSE(jobs->View(first).ok());
  EXPECT_EQ(jobs->forgotten().last, first);
  EXPECT_EQ(jobs->forgotten().until, ended_at);
  Restart();
  ComeBack(node);
  EXPECT_EQ(jobs->forgotten().last, first);
  EXPECT_EQ(jobs->forgotten().until, ended_at);
  EXPECT_EQ(ReasonOf(last), "waits for job2 to succeed");
  EXPECT_THAT(StatusOf(*jobs->View(last)).after, ElementsAre(first, gate));
  EndAll();
  EXPECT_TRUE(Exists("/last/_SUCCESS"));
}

TEST_F(WaitingJobsTest, ADatabaseOfAnEarlierReleaseTellsWhatItForgotByTheJobsThatItHas) {
  history_jobs = 1;
  Restart();
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  for (int i = 0; i < 3; ++i) {
    Submit(Request("/out" + std::to_string(i), 0));
    EndAll();
  }
  Finish(At());
  WriteBatch older;
  older.Remove(std::string(kForgottenKey));
  ASSERT_TRUE(store->Write(older, Durability::kSynced).ok());
  Restart();
  EXPECT_EQ(jobs->forgotten().last, JobId{2});
  EXPECT_EQ(jobs->forgotten().until, jobs->FindRecord(JobId{3})->submitted);
}

// A step that lets ten thousand jobs go on, or ends them, takes a time that grows with their number alone.
TEST_F(WaitingJobsTest, TenThousandJobsWaitForOne) {
  constexpr std::uint32_t kJobs = 10'000;
  history_jobs = 2 * kJobs;
  compares_all_jobs = false;
  Restart();
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  for (const bool killed : {false, true}) {
    const JobId first = Submit(Request(killed ? "/killed" : "/one", 0));
    std::vector<JobId> all;
    for (std::uint32_t i = 0; i < kJobs; ++i)
      all.push_back(Submit(After({first}, (killed ? "/never/" : "/out/") + std::to_string(i))));
    EXPECT_FALSE(jobs->AnyDue());
    if (killed) {
      Kill(first);
      for (const JobId job : all) ASSERT_EQ(StateOf(job), JobState::kFailed);
      break;
    }
    Restart();
    ComeBack(node);
    const LaunchOrder of_first = launches.front();
    launches.clear();
    Done(of_first);
    for (const JobId job : all) ASSERT_FALSE(jobs->FindRecord(job)->waits);
    for (const JobId job : all) Kill(job);
    launches.clear();
  }
}

// A random history of submissions, ends, kills, holds and restarts is compared with what the rules say of it. Nothing
// that waits is forgotten, and nothing starts too early.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  std::uint32_t Below(std::uint64_t n) { return static_cast<std::uint32_t>(random_.Below(n)); }

 private:
  Random random_;
};

TEST_F(WaitingJobsTest, InRandomHistoriesAJobStartsExactlyWhenTheRulesSay) {
  const char* const given = std::getenv("MILLRACE_TEST_SEEDS");
  const int rounds = given == nullptr ? 30 : std::atoi(given);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const std::uint64_t seed = SeedFromSystem();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draws random(seed);
    store = MakeMemoryStore();
    launches.clear();
    Restart();
    const NodeId node = AddWorker("a", 1, 1);
    AddFile("/in/text", 1, {node});
    struct Model {
      std::vector<JobId> after;
      bool even = false, held = false;
    };
    std::map<JobId, Model> model;
    const auto one_of_them = [&] {  // numbers have gaps after restarts
      const auto at = std::next(model.begin(), random.Below(model.size()));
      return at->first;
    };
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
      const std::uint32_t what = random.Below(10);
      const JobId any = model.empty() || random.Below(10) == 0 ? JobId{1 + random.Below(2000)} : one_of_them();
      if (what < 4) {
        Model job;
        for (std::uint32_t n = random.Below(3); n > 0 && !model.empty(); --n) job.after.push_back(one_of_them());
        job.even = random.Below(3) == 0;
        job.held = random.Below(6) == 0;
        JobRequest request = After(job.after, "/out" + std::to_string(i));
        request.even_if_failed = job.even;
        request.held = job.held;
        Step step = At();
        const Result<JobId> id = jobs->Submit(request, &step);
        Finish(std::move(step));
        const bool hopeless = !job.even && std::ranges::any_of(job.after, [&](JobId other) {
          return StateOf(other) == JobState::kFailed || StateOf(other) == JobState::kKilled;
        });
        ASSERT_EQ(id.ok(), !hopeless) << id.status().message();
        if (id.ok()) model[*id] = job;
      } else if (what < 7 && !launches.empty()) {
        const LaunchOrder next = launches.front();
        launches.erase(launches.begin());
        Done(next);
      } else if (what == 7 && model.contains(any)) {
        Step step = At();
        const bool live = !Ended(StateOf(any));
        EXPECT_EQ(jobs->Kill(any, "by chance", &step).ok(), live);
        Finish(std::move(step));
        std::erase_if(launches, [&](const LaunchOrder& launch) { return launch.attempt.task.job == any; });
      } else if (what == 8 && model.contains(any)) {
        const bool waits = StateOf(any) == JobState::kWaiting;
        if (random.Below(2) == 0) {
          EXPECT_EQ(Hold(any).ok(), waits);
          if (waits) model[any].held = true;
        } else {
          EXPECT_EQ(Release(any).ok(), waits && model[any].held);
          if (waits) model[any].held = false;
        }
      } else if (what == 9) {
        Restart();
        BackAgain(node);
        Finish(At());
      }
      for (const auto& [id, job] : model) {
        bool over = true, hopeless = false;
        for (const JobId other : job.after) {
          over = over && Ended(StateOf(other));
          hopeless = hopeless || (Ended(StateOf(other)) && StateOf(other) != JobState::kSucceeded && !job.even);
        }
        const JobRecord& record = *jobs->FindRecord(id);
        if (record.outcome && record.outcome->outcome == sched::JobOutcome::kKilled) continue;
        EXPECT_EQ(StateOf(id) == JobState::kFailed, hopeless) << ToText(id);
        if (hopeless) continue;
        const bool never_held = record.waits == (!over || job.held) || (job.held && !record.waits);
        EXPECT_TRUE(never_held) << ToText(id) << ": " << ReasonOf(id);
        EXPECT_TRUE(over || record.waits) << ToText(id);
        EXPECT_TRUE(!job.held || record.first_launch == 0) << ToText(id);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::master
