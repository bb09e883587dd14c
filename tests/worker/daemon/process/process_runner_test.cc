// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/process_runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/inline_background.h"
#include "worker/daemon/process/orphans.h"

namespace millrace::worker {
namespace {

using testing::HasSubstr;

struct Recorder final : TaskObserver {
  ~Recorder() noexcept override = default;
  void TaskProgress(const AttemptId&, OwnedMessage<task::wire::Progress> progress) override {
    statuses.push_back(progress.reader().getStatus());
    Tell();
  }
  void TaskDone(const AttemptId& attempt, OwnedMessage<task::wire::Done> done) override {
    done_attempts.push_back(attempt);
    pids.push_back(static_cast<pid_t>(done.reader().getCounters()[0].getValue()));
    Tell();
  }
  void TaskFailed(const AttemptId&, TaskFailure failure) override {
    failures.push_back(std::move(failure));
    Tell();
  }
  void Tell() {
    ++events;
    KJ_IF_MAYBE (waiting, next) {
      (*waiting)->fulfill();
    }
  }
  void WaitForEvent(kj::WaitScope& scope) {
    while (events == seen) {
      auto pair = kj::newPromiseAndFulfiller<void>();
      next = kj::mv(pair.fulfiller);
      pair.promise.wait(scope);
    }
    ++seen;
  }

  std::vector<std::string> statuses;
  std::vector<AttemptId> done_attempts;
  std::vector<pid_t> pids;
  std::vector<TaskFailure> failures;
  int events = 0, seen = 0;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> next;
};

// Does nothing until it is told to.
struct Held final : rpc::Background {
  ~Held() noexcept override = default;
  void Run(std::function<void()> work, std::function<void()> then) override {
    works.emplace_back(std::move(work), std::move(then));
  }
  void Do() {
    for (auto& [work, then] : std::exchange(works, {})) {
      work();
      then();
    }
  }
  std::vector<std::pair<std::function<void()>, std::function<void()>>> works;
};

constexpr JobId kJob{7}, kOtherJob{8};

class ProcessRunnerTest : public testing::Test {
 protected:
  ~ProcessRunnerTest() noexcept override = default;
  void MakeRunner(ProcessLimits limits = {}, const std::string& job_name = "plain", kj::Timer* timer = nullptr,
                  rpc::Background* ends = nullptr) {
    limits.logs_directory = directory_.path() + "/logs";
    ASSERT_TRUE(MakeDirectories(limits.logs_directory).ok());
    limits.files = &files_;
    if (limits.minder.empty()) limits.minder = MILLRACE_MINDER;
    kj::Timer& used = timer == nullptr ? io_.provider->getTimer() : *timer;
    runner_ = kj::heap<ProcessRunner>(ProcessLoop{io_.unixEventPort, *io_.lowLevelProvider, used}, limits,
                                      ends == nullptr ? ends_ : *ends, orphans_, MakeSilentLog());
    runner_->Observe(&seen_);
    SetUp(kJob, job_name, MILLRACE_FAKE_TASK);
  }
  void SetUp(JobId job, const std::string& name, const std::string& executable) {
    OwnedMessage<task::wire::SetUp> set_up;
    set_up.builder().initJob().setName(name);
    set_up.builder().getJob().setJob(job.value);
    runner_->SetUpJob(job, executable, std::move(set_up));
  }
  AttemptId StartMap(std::uint32_t task, const std::string& order, JobId job = kJob) {
    const AttemptId id = MapAttemptId(job, task, 0);
    OwnedMessage<task::wire::RunMap> launch;
    auto map = launch.builder();
    ToWire(id, map.initAttempt());
    map.initInputs(1)[0].setPath({reinterpret_cast<const kj::byte*>(order.data()), order.size()});
    map.setScratch(directory_.path());
    map.setRecordNote(directory_.path() + "/note");
    map.setStderr(directory_.path() + "/" + ToText(id) + ".err");
    runner_->RunMap(std::move(launch));
    return id;
  }
  void Next() { seen_.WaitForEvent(io_.waitScope); }
  TaskFailure FailureOf(const std::string& order) {
    StartMap(0, order);
    Next();
    EXPECT_EQ(seen_.failures.size(), 1U);
    return seen_.failures.empty() ? TaskFailure() : seen_.failures.back();
  }
  // The pipe ends when all processes are dead that opened its other end (fake_task.cc).
  Fd Alive() {
    const std::string fifo = directory_.path() + "/alive";
    EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    return Fd(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  static void AwaitDeath(const Fd& alive) {
    EXPECT_EQ(fcntl(alive.get(), F_SETFL, 0), 0);
    char byte = 0;
    EXPECT_EQ(read(alive.get(), &byte, 1), 0);
  }
  void WaitForEnd(kj::AutoCloseFd pidfd) {
    kj::UnixEventPort::FdObserver observer(io_.unixEventPort, pidfd, kj::UnixEventPort::FdObserver::OBSERVE_READ);
    observer.whenBecomesReadable().wait(io_.waitScope);
  }

  TempDir directory_ = std::move(*TempDir::Make("process_runner"));
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  Recorder seen_;
  sandbox::TaskDirectories files_ = sandbox::TaskDirectories::Open({directory_.path()}).value();
  rpc::InlineBackground ends_, orphans_;
  kj::Own<ProcessRunner> runner_;
};

TEST_F(ProcessRunnerTest, OneProcessServesTheAttemptsOfAJobOneAfterTheOther) {
  MakeRunner();
  StartMap(0, "done");
  Next();
  StartMap(1, "done");
  Next();
  OwnedMessage<task::wire::RunReduce> launch;
  ToWire(ReduceAttemptId(kJob, 0, 0), launch.builder().initAttempt());
  runner_->RunReduce(std::move(launch));
  Next();
  ASSERT_EQ(seen_.pids.size(), 3U);
  EXPECT_EQ(seen_.pids[0], seen_.pids[1]);
  EXPECT_EQ(seen_.pids[1], seen_.pids[2]);
  EXPECT_EQ(seen_.done_attempts[2], (ReduceAttemptId(kJob, 0, 0)));
  EXPECT_EQ(runner_->processes(), 1U);
}

TEST_F(ProcessRunnerTest, AttemptsAtOnceAndOtherJobsHaveProcessesOfTheirOwn) {
  MakeRunner();
  SetUp(kOtherJob, "plain", MILLRACE_FAKE_TASK);
  StartMap(0, "done");
  StartMap(1, "done");
  Next();
  Next();
  StartMap(0, "done", kOtherJob);
  Next();
  EXPECT_NE(seen_.pids[0], seen_.pids[1]);
  EXPECT_NE(seen_.pids[2], seen_.pids[0]);
  EXPECT_NE(seen_.pids[2], seen_.pids[1]);
}

TEST_F(ProcessRunnerTest, ProgressIsPassedOn) {
  MakeRunner();
  StartMap(0, "progress");
  Next();
  Next();
  EXPECT_THAT(seen_.statuses, testing::ElementsAre("half way"));
  EXPECT_EQ(seen_.done_attempts.size(), 1U);
}

TEST_F(ProcessRunnerTest, AnExitInTheMiddleFailsTheAttemptWithItsLastWords) {
  MakeRunner();
  const TaskFailure failure = FailureOf("exit 3");
  EXPECT_EQ(failure.error, "ended itself (exit status 3) before it was done");
  EXPECT_EQ(failure.stderr_tail, "first line\nlast words\n");
}

TEST_F(ProcessRunnerTest, WithoutALogTheWordsOfTheProcessItselfAreTold) {
  MakeRunner();
  EXPECT_THAT(FailureOf("early words").stderr_tail, HasSubstr("said before there was a log"));
}

TEST_F(ProcessRunnerTest, ACrashNamesItsSignal) {
  MakeRunner();
  EXPECT_EQ(FailureOf("crash").error, "killed by signal 11 (SIGSEGV)");
}

// This holds however its process ended.
TEST_F(ProcessRunnerTest, AFailureNamesTheRecordThatWasUnderWay) {
  MakeRunner();
  const TaskFailure crash = FailureOf("crash at a record");
  EXPECT_EQ(crash.error, "killed by signal 6 (SIGABRT)");
  EXPECT_EQ(crash.record, (task::RecordPlace{1, 4096, 2}));
  seen_.failures.clear();
  EXPECT_EQ(FailureOf("fail at a record").record, (task::RecordPlace{1, 4096, 2}));
  seen_.failures.clear();
  ASSERT_EQ(unlink((directory_.path() + "/note").c_str()), 0);
  EXPECT_EQ(FailureOf("crash").record, std::nullopt);
}

TEST_F(ProcessRunnerTest, AFailureIsPermanentIfTheTaskSaysSo) {
  MakeRunner();
  EXPECT_TRUE(FailureOf("fail for good").permanent);
  seen_.failures.clear();
  EXPECT_FALSE(FailureOf("fail at a record").permanent);
  seen_.failures.clear();
  EXPECT_FALSE(FailureOf("crash").permanent);
}

TEST_F(ProcessRunnerTest, AClosedChannelFailsTheAttempt) {
  MakeRunner();
  EXPECT_THAT(FailureOf("close").error, HasSubstr("closed its channel"));
}

TEST_F(ProcessRunnerTest, BytesThatAreNoMessageFailTheAttempt) {
  MakeRunner();
  EXPECT_THAT(FailureOf("garbage").error, HasSubstr("make no sense"));
}

// The loop gets to timers and to others.
TEST_F(ProcessRunnerTest, ATaskThatTalksWithoutEndDoesNotHoldTheLoop) {
  MakeRunner();
  const AttemptId loud = StartMap(0, "talk without end");
  Next();
  for (int i = 0; i < 5; ++i) io_.provider->getTimer().afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
  StartMap(1, "done");
  while (seen_.done_attempts.empty()) Next();
  runner_->Kill(loud).wait(io_.waitScope);
}

TEST_F(ProcessRunnerTest, AMessageLongerThanATaskMaySendFailsTheAttempt) {
  MakeRunner();
  EXPECT_THAT(FailureOf("a message that is too long").error, HasSubstr("longer than the limit of 4194304"));
}

TEST_F(ProcessRunnerTest, WhatATaskSaysOfItsFailureIsKeptShort) {
  MakeRunner();
  EXPECT_LE(FailureOf("a long error").error.size(), std::size_t{4} << 10);
}

// What lies in the place of its files is looked at in the background alone, and not followed.
TEST_F(ProcessRunnerTest, LogsAndNotesThatAreLinksOrPipesAreNotRead) {
  ASSERT_TRUE(WriteFileDurably(directory_.path() + "/key", "a secret").ok());
  const AttemptId id = MapAttemptId(kJob, 0, 0);
  ASSERT_EQ(symlink("key", (directory_.path() + "/" + ToText(id) + ".err").c_str()), 0);
  ASSERT_EQ(mkfifo((directory_.path() + "/note").c_str(), 0600), 0);
  MakeRunner();
  const TaskFailure failure = FailureOf("crash");
  EXPECT_EQ(failure.stderr_tail, "");
  EXPECT_EQ(failure.record, std::nullopt);
}

// Nothing of what has to be found out of a process that ended keeps the others from going on.
TEST_F(ProcessRunnerTest, WhatATaskLeftBehindHoldsNobody) {
  Held ends;
  MakeRunner({}, "plain", nullptr, &ends);
  StartMap(0, "exit 3");
  while (ends.works.empty()) io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
  StartMap(1, "done");
  Next();
  EXPECT_EQ(seen_.done_attempts.size(), 1U);
  EXPECT_TRUE(seen_.failures.empty());
  const AttemptId second = StartMap(2, "crash");
  while (ends.works.size() < 2) io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
  runner_->Kill(second).wait(io_.waitScope);
  ends.Do();
  ASSERT_EQ(seen_.failures.size(), 1U) << "nobody hears of the one that was killed";
  EXPECT_EQ(seen_.failures[0].stderr_tail, "first line\nlast words\n");
  runner_ = nullptr;
}

TEST_F(ProcessRunnerTest, AFailureThatTheTaskReportsIsPassedOnAndItsProcessNotUsedAgain) {
  MakeRunner();
  StartMap(0, "done");
  Next();
  EXPECT_EQ(FailureOf("fail").error, "user code threw");
  StartMap(2, "done");
  Next();
  ASSERT_EQ(seen_.pids.size(), 2U);
  EXPECT_NE(seen_.pids[0], seen_.pids[1]);
}

TEST_F(ProcessRunnerTest, AJobThatRefusesItsSetUpFailsItsAttempts) {
  MakeRunner({}, "refused");
  EXPECT_THAT(FailureOf("done").error, HasSubstr("unknown option wordcount.x"));
}

TEST_F(ProcessRunnerTest, AnExecutableThatCannotBeStartedFailsTheAttempt) {
  MakeRunner();
  SetUp(kJob, "plain", directory_.path() + "/absent");
  EXPECT_THAT(FailureOf("done").error, HasSubstr("/absent"));
}

TEST_F(ProcessRunnerTest, KillEndsTheProcessAndItsDescendantsAndNobodyHearsOfIt) {
  MakeRunner();
  const Fd alive = Alive();
  const AttemptId id = StartMap(0, "family");
  Next();
  ASSERT_THAT(seen_.statuses, testing::ElementsAre("hanging with a child"));
  runner_->Kill(id).wait(io_.waitScope);
  EXPECT_EQ(runner_->processes(), 0U);
  AwaitDeath(alive);
  EXPECT_TRUE(seen_.failures.empty());
}

// They are not in its process group: they have sessions of their own, and so have their children.
TEST_F(ProcessRunnerTest, DescendantsThatLeftTheGroupEndWithTheProcess) {
  ASSERT_TRUE(AdoptOrphans().ok());
  MakeRunner();
  kj::AutoCloseFd alive(Alive().Release());
  const AttemptId id = StartMap(0, "runaways");
  Next();
  const kj::Promise<void> killed = runner_->Kill(id);
  kj::UnixEventPort::FdObserver observer(io_.unixEventPort, alive, kj::UnixEventPort::FdObserver::OBSERVE_READ);
  observer.whenBecomesReadable().wait(io_.waitScope);  // when the last of them is dead
  char byte = 0;
  EXPECT_EQ(read(alive, &byte, 1), 0);
}

TEST_F(ProcessRunnerTest, TheGroupOfATaskEndsWithIt) {
  MakeRunner();
  const Fd alive = Alive();
  EXPECT_THAT(FailureOf("leave a child").error, HasSubstr("exit status 3"));
  AwaitDeath(alive);
}

// The daemon would not survive this if it were the parent.
TEST_F(ProcessRunnerTest, ATaskThatKillsItsParentEndsItself) {
  MakeRunner();
  const Fd alive = Alive();
  EXPECT_THAT(FailureOf("kill the parent").error, HasSubstr("SIGKILL"));
  AwaitDeath(alive);
  StartMap(1, "done");
  Next();
  EXPECT_EQ(seen_.done_attempts.size(), 1U);
}

TEST_F(ProcessRunnerTest, AnOrphanThatKillsWhoAdoptsItEndsItsTask) {
  ASSERT_TRUE(AdoptOrphans().ok());
  MakeRunner();
  EXPECT_THAT(FailureOf("an orphan kills its parent").error, HasSubstr("SIGKILL"));
}

// A minder that never gets to its own program: what the task does meanwhile falls upon it all the same.
TEST_F(ProcessRunnerTest, AnOrphanIsTheMindersBeforeItsProgramRuns) {
  ASSERT_TRUE(AdoptOrphans().ok());
  const std::string slow = directory_.path() + "/slow-minder", never = directory_.path() + "/never";
  ASSERT_EQ(mkfifo(never.c_str(), 0600), 0);
  ASSERT_TRUE(WriteFileDurably(slow, "#!/bin/sh\nread line <" + never + "\nexec " MILLRACE_MINDER " \"$@\"\n").ok());
  ASSERT_EQ(chmod(slow.c_str(), 0700), 0);
  ProcessLimits limits;
  limits.minder = slow;
  MakeRunner(limits);
  EXPECT_THAT(FailureOf("an orphan kills its parent").error, HasSubstr("SIGKILL"));
}

TEST_F(ProcessRunnerTest, ATaskThatStopsItsParentIsKilledAllTheSame) {
  MakeRunner();
  const AttemptId id = StartMap(0, "stop the parent");
  Next();
  runner_->Kill(id).wait(io_.waitScope);
  EXPECT_EQ(runner_->processes(), 0U);
}

TEST_F(ProcessRunnerTest, WithoutItsMinderNoTaskStarts) {
  ProcessLimits limits;
  limits.minder = "/nowhere/millrace-minder";
  MakeRunner(limits);
  EXPECT_THAT(FailureOf("done").error, HasSubstr("cannot start /nowhere/millrace-minder"));
}

TEST_F(ProcessRunnerTest, TasksDoNotSeeTheEnvironmentOfTheDaemon) {
  ASSERT_EQ(setenv("SECRET_OF_DAEMON", "hunter2", 1), 0);
  MakeRunner();
  StartMap(0, "environment");
  Next();
  ASSERT_EQ(seen_.statuses.size(), 1U);
  EXPECT_THAT(seen_.statuses[0], HasSubstr("PATH="));
  EXPECT_THAT(seen_.statuses[0], testing::Not(HasSubstr("SECRET")));
}

TEST_F(ProcessRunnerTest, ForgetJobEndsIdleAndBusyProcesses) {
  MakeRunner();
  StartMap(0, "done");
  Next();
  const Fd alive = Alive();
  StartMap(1, "family");
  StartMap(2, "done");
  Next();
  Next();
  EXPECT_EQ(runner_->processes(), 2U);
  runner_->ForgetJob(kJob).wait(io_.waitScope);
  EXPECT_EQ(runner_->processes(), 0U);
  EXPECT_TRUE(seen_.failures.empty());
}

TEST_F(ProcessRunnerTest, AJobThatIsEndedIsStillSetUp) {
  MakeRunner();
  StartMap(0, "done");
  Next();
  runner_->EndJob(kJob).wait(io_.waitScope);
  EXPECT_EQ(runner_->processes(), 0U) << "it was idle";
  StartMap(1, "done");
  Next();
  EXPECT_EQ(runner_->processes(), 1U);
  EXPECT_TRUE(seen_.failures.empty());
}

TEST_F(ProcessRunnerTest, AProcessThatDoesNotBecomeReadyInTimeFailsItsAttempt) {
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  ProcessLimits limits;
  limits.start_timeout = 30 * kj::SECONDS;
  MakeRunner(limits, "silent", &timer);
  StartMap(0, "done");
  timer.advanceTo(timer.now() + 31 * kj::SECONDS);
  Next();
  EXPECT_THAT(seen_.failures.at(0).error, HasSubstr("task.start_timeout"));
  runner_ = nullptr;
}

TEST_F(ProcessRunnerTest, AProcessIsGivenAnotherCertificateForAsLongAsItLives) {
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  ProcessLimits limits;
  int given = 0;
  limits.credentials = [&given](const std::string& user) {
    return tls::CredentialTexts{"authority", {user + std::to_string(++given), "key"}};
  };
  limits.renew_credentials = 50 * kj::SECONDS;
  MakeRunner(limits, "plain", &timer);
  const auto shown = [&](std::uint32_t map) {
    StartMap(map, "certificate");
    Next();
    Next();
    return seen_.statuses.back();
  };
  EXPECT_EQ(shown(0), "1");
  EXPECT_EQ(shown(1), "1");
  for (int i = 2; i < 5; ++i) {
    timer.advanceTo(timer.now() + 51 * kj::SECONDS);
    io_.waitScope.poll();
    EXPECT_EQ(shown(static_cast<std::uint32_t>(i)), std::to_string(i));
  }
  EXPECT_EQ(seen_.pids.front(), seen_.pids.back());
  runner_ = nullptr;
}

TEST_F(ProcessRunnerTest, AnIdleProcessIsAskedToEndAfterItsTime) {
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  MakeRunner({}, "plain", &timer);
  StartMap(0, "done");
  Next();
  kj::AutoCloseFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, seen_.pids.at(0), 0)));
  timer.advanceTo(timer.now() + 61 * kj::SECONDS);
  WaitForEnd(kj::mv(pidfd));
  runner_ = nullptr;
}

TEST_F(ProcessRunnerTest, NoMoreIdleProcessesAreKeptThanAllowed) {
  ProcessLimits limits;
  limits.warm_processes = 1;
  MakeRunner(limits);
  StartMap(0, "done");
  StartMap(1, "done");
  Next();
  kj::AutoCloseFd first(static_cast<int>(syscall(SYS_pidfd_open, seen_.pids.at(0), 0)));
  Next();
  WaitForEnd(kj::mv(first));
}

}  // namespace
}  // namespace millrace::worker
