// SPDX-License-Identifier: Apache-2.0
// Tests a worker without processes, disks and sockets, as simulated clusters use it.
#include <gmock/gmock.h>

#include "tests/fakes/inline_background.h"
#include "tests/fakes/memory_block_store.h"
#include "tests/fakes/pipe_network.h"
#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

// Notes when the attempts of a job of three maps and a reduce were done, and in which order.
struct Course {
  std::vector<std::string> log;
  std::int64_t micros = 0;
  bool operator==(const Course&) const = default;
};

Course RunJob(std::uint64_t seed) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  MasterRecord record;
  rpc::Server server(timer, kj::heap<FakeMaster>(record));
  rpc::PipeNetwork network;
  network.Serve("master:1", server);
  WorkerConfig config;
  const OptionSet options = DeclareWorkerOptions(&config);
  config.master = "master:1";
  config.map_slots = 3;
  rpc::InlineBackground background;
  Random random(seed);
  SyntheticTimes times;
  times.map_least = 10 * kj::SECONDS;
  times.map_most = 20 * kj::SECONDS;
  times.reduce_least = times.reduce_most = 5 * kj::SECONDS;
  SyntheticRunner runner(timer, Random(random.Next()), times);
  SyntheticPlane plane;
  SyntheticFiles files;
  SyntheticExecutables executables(background);
  const auto blocks = dfs::MakeMemoryBlockStore(1 << 20);
  const DrivenClock clock(kSecond);
  WorkerAgent agent({timer, network, runner, *blocks, plane, files, executables, background, background, clock}, config,
                    {"s", 1, "", MasterRecord::kCluster, {}}, Random(random.Next()), MakeSilentLog());
  agent.Start();
  scope.poll();
  auto control = KJ_ASSERT_NONNULL(record.control);
  auto set_up = control.setUpJobRequest();
  set_up.initSetup().setJob(1);
  set_up.getSetup().setReduces(1);
  set_up.send().ignoreResult().wait(scope);
  auto reduce = control.launchReduceRequest();
  ToWire(ReduceAttemptId(JobId{1}, 0, 0), reduce.initAttempt());
  reduce.setMaps(3);
  reduce.send().ignoreResult().wait(scope);
  for (std::uint32_t task = 0; task < 3; ++task) {
    auto map = control.launchMapRequest();
    ToWire(MapAttemptId(JobId{1}, task, 0), map.initAttempt());
    map.send().ignoreResult().wait(scope);
    auto outputs = control.mapOutputsRequest();
    outputs.setJob(1);
    ToWire(MapAttemptId(JobId{1}, task, 0), outputs.initReady(1)[0].initAttempt());
    outputs.send().ignoreResult().wait(scope);
  }
  while (agent.running() > 0) {
    timer.advanceTo(timer.now() + 10 * kj::MILLISECONDS);
    scope.poll();
  }
  return {record.log, (timer.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS};
}

TEST(SyntheticWorkerTest, RunsAJobInDrivenTimeWithinTheTimesGiven) {
  const Course course = RunJob(7);
  EXPECT_THAT(course.log,
              testing::IsSupersetOf({"done job1.m.0.0 read 0 shuffled 0", "done job1.m.1.0 read 0 shuffled 0",
                                     "done job1.m.2.0 read 0 shuffled 0", "computes job1.r.0.0",
                                     "done job1.r.0.0 read 0 shuffled 0"}));
  EXPECT_GE(course.micros, 10 * kSecond);
  EXPECT_LE(course.micros, 20 * kSecond + 10 * kMillisecond);
}

TEST(SyntheticWorkerTest, TheSameSeedGivesTheSameCourseAndAnotherSeedAnother) {
  EXPECT_EQ(RunJob(7), RunJob(7));
  EXPECT_NE(RunJob(7), RunJob(8));
}

}  // namespace
}  // namespace millrace::worker
