// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "client/process/progress_reporter.h"
#include "tests/client/api/memory_input.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

// Waits in Map until the test has seen a report.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
};
struct Waiting {
  inline static Gate* gate = nullptr;
  explicit Waiting(TaskContext& context) : context_(context), seen_(context.counter("test", "lines")) {}
  void Map(std::string_view line, auto& emit) {
    ++seen_;
    context_.set_status("at " + std::string(line));
    if (line == "wait") {
      std::unique_lock lock(gate->mutex);
      gate->changed.wait(lock, [] { return gate->open; });
    }
    emit(line);
  }
  TaskContext& context_;
  Counter& seen_;
};

void Open(Gate& gate) {
  const std::lock_guard lock(gate.mutex);
  gate.open = true;
  gate.changed.notify_all();
}

TEST(TaskProgressTest, ProgressIsReportedWhileAnAttemptRuns) {
  TaskFiles files;
  Gate gate;
  Waiting::gate = &gate;
  TaskDriver driver(internal::BindJob<Waiting>(), files, std::chrono::milliseconds(1));
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "12345\nwait\n6789\n")}, "");
  while (true) {
    const task::Message message = driver.Receive();
    const auto progress = message.Root<wire::FromTask>().getProgress();
    if (std::string(progress.getStatus().cStr()) != "at wait") continue;
    EXPECT_FLOAT_EQ(progress.getFraction(), 6.0f / 16.0f);
    bool counted = false;
    for (const auto counter : progress.getCounters())
      counted |= counter.getGroup() == "test" && counter.getValue() == 2;
    EXPECT_TRUE(counted);
    break;
  }
  Open(gate);
  EXPECT_EQ(driver.WaitForEnd().counters["test.lines"], 3);
}

TEST(TaskProgressTest, ProgressGoesOnOverTheInputsOfAMap) {
  TaskFiles files;
  Gate gate;
  Waiting::gate = &gate;
  TaskDriver driver(internal::BindJob<Waiting>(), files, std::chrono::milliseconds(1));
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "12345\n"), AddLocal(files, 2, "b", "678\nwait\n9\n")}, "");
  while (true) {
    const task::Message message = driver.Receive();
    const auto progress = message.Root<wire::FromTask>().getProgress();
    if (std::string(progress.getStatus().cStr()) != "at wait") continue;
    EXPECT_FLOAT_EQ(progress.getFraction(), 10.0f / 17.0f);
    break;
  }
  Open(gate);
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.counters["test.lines"], 4);
  EXPECT_EQ(end.counters["millrace.map_input_bytes"], 17);
}

TEST(TaskProgressTest, ADaemonThatGoesAwayIsNoticedWhileAnAttemptRuns) {
  TaskFiles files;
  Gate gate;
  Waiting::gate = &gate;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const TempDir directory = *TempDir::Make("task");
  TaskContext::Facts facts;
  const JobOptions options;
  MemoryInput input;
  SideFiles side_files(input, {});
  TaskContext context(facts, options, side_files);
  task::Channel channel{Fd(fds[0])};
  const std::function<void()> gone = [&] { Open(gate); };
  const std::function<void()> order = [] { ADD_FAILURE() << "nothing was said"; };
  const ProgressReporter reporter(channel, context, std::chrono::hours(1), order, gone);
  Fd(fds[1]).Close();
  std::unique_lock lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.open; });
}

TEST(TaskProgressTest, WhatTheDaemonSaysWhileAnAttemptRunsIsHeard) {
  Gate gate;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const TempDir directory = *TempDir::Make("task");
  TaskContext::Facts facts;
  const JobOptions options;
  MemoryInput input;
  SideFiles side_files(input, {});
  TaskContext context(facts, options, side_files);
  task::Channel channel{Fd(fds[0])}, daemon{Fd(fds[1])};
  std::string certificate;
  const std::function<void()> order = [&] {
    const auto message = channel.Read();
    ASSERT_TRUE(message.ok() && *message);
    const Result<ToTask> decoded = DecodeToTask(**message);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    certificate = std::get<tls::CredentialTexts>(*decoded).own.certificate;
    Open(gate);
  };
  const std::function<void()> gone = [] { ADD_FAILURE() << "the daemon is there"; };
  {
    const ProgressReporter reporter(channel, context, std::chrono::hours(1), order, gone);
    capnp::MallocMessageBuilder message;
    message.initRoot<task::wire::ToTask>().initCredentials().setCertificate("another");
    ASSERT_TRUE(daemon.Write(message).ok());
    std::unique_lock lock(gate.mutex);
    gate.changed.wait(lock, [&] { return gate.open; });
  }
  EXPECT_EQ(certificate, "another");
}

// Emits very many records of one, then waits until the test has seen a report.
struct Outpouring {
  using Key = std::uint64_t;
  using Value = std::uint64_t;
  static constexpr std::uint64_t kRecords = 1000;
  inline static Gate* gate = nullptr;

  void Map(std::string_view, auto& emit) {
    for (std::uint64_t i = 0; i < kRecords; ++i) emit(i, std::uint64_t{1});
    std::unique_lock lock(gate->mutex);
    gate->changed.wait(lock, [] { return gate->open; });
  }
};
struct CombinedOutpouring : Outpouring {
  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

// Returns the number of emitted records that is reported while the one record is mapped.
template <class Job>
std::uint64_t EmittedOfOneRecord(std::uint32_t reduces) {
  TaskFiles files;
  Gate gate;
  Outpouring::gate = &gate;
  TaskDriver driver(internal::BindJob<Job>(), files, std::chrono::milliseconds(1));
  EXPECT_EQ(driver.SetUpJob(reduces), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "one\n")}, driver.Path("m0"));
  std::uint64_t emitted = 0;
  // Records that wait in a batch are not counted yet.
  while (emitted < Outpouring::kRecords - 100) {
    const task::Message message = driver.Receive();
    emitted = message.Root<wire::FromTask>().getProgress().getEmitted();
  }
  Open(gate);
  EXPECT_EQ(driver.WaitForEnd().error, "");
  return emitted;
}

TEST(TaskProgressTest, WhatOneRecordEmitsIsSeenBeforeTheRecordIsDone) {
  EXPECT_LE(EmittedOfOneRecord<Outpouring>(1), 1000u);
  EXPECT_LE(EmittedOfOneRecord<CombinedOutpouring>(1), 1000u);
  EXPECT_LE(EmittedOfOneRecord<Outpouring>(0), 1000u);
}

// Takes half of the values of its one key, then waits until the test has seen a report.
struct OneKey {
  using Key = std::uint64_t;
  using Value = std::uint64_t;
  static constexpr std::uint64_t kRecords = 1000;
  inline static Gate* gate = nullptr;

  void Map(std::string_view, auto& emit) {
    for (std::uint64_t i = 0; i < kRecords; ++i) emit(std::uint64_t{7}, i);
  }
  void Reduce(std::uint64_t, auto& values, auto&) {
    std::uint64_t taken = 0;
    for ([[maybe_unused]] const std::uint64_t value : values) {
      if (++taken != kRecords / 2) continue;
      std::unique_lock lock(gate->mutex);
      gate->changed.wait(lock, [] { return gate->open; });
    }
  }
};

TEST(TaskProgressTest, TheValuesOfOneKeyAreSeenBeforeTheKeyIsDone) {
  TaskFiles files;
  Gate gate;
  OneKey::gate = &gate;
  TaskDriver driver(internal::BindJob<OneKey>(), files, std::chrono::milliseconds(1));
  ASSERT_EQ(driver.SetUpJob(1), "");
  driver.LaunchMap(0, {AddLocal(files, 1, "a", "one\n")}, driver.Path("m0"));
  ASSERT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchReduce(0, {driver.Path("m0")});
  std::uint64_t taken = 0;
  while (taken < OneKey::kRecords / 2) {
    const task::Message message = driver.Receive();
    taken = message.Root<wire::FromTask>().getProgress().getEmitted();
  }
  EXPECT_EQ(taken, OneKey::kRecords / 2);
  Open(gate);
  EXPECT_EQ(driver.WaitForEnd().error, "");
}

}  // namespace
}  // namespace millrace
