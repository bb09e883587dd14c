// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/cluster_id.h"
#include "master/control/cluster_record.h"
#include "master/control/wire_codec.h"
#include "master/service/file_lease.h"
#include "master/service/master_service.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/event_text.h"
#include "tests/node_ids.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int kJobs = 200;

// 200 jobs of 1 to 40 maps and 0 to 5 reduces, one every second or so; `faults`: attempts fail, workers are cut off and
// come back, the master dies twice.
std::vector<std::string> RunBatch(std::uint64_t seed, bool faults) {
  SimulatedOptions options;
  options.seed = seed;
  options.times.failure = faults ? 0.03 : 0;
  SimulatedCluster cluster(options);
  Random random(seed + 1);
  for (int i = 0; i < 20; ++i)
    cluster.AddFile("/in/" + std::to_string(i), 1 + static_cast<std::uint32_t>(random.Below(40)));
  for (int i = 0; i < kJobs; ++i) {
    cluster.Submit("/in/" + std::to_string(random.Below(20)), "/out/" + std::to_string(i),
                   static_cast<std::uint32_t>(random.Below(6)));
    cluster.Advance(2 * random.Unit());
    if (!faults) continue;
    if (i % 20 == 7) cluster.Cut(static_cast<std::uint32_t>(random.Below(50)));
    if (i % 20 == 15) {
      for (std::uint32_t w = 0; w < 50; ++w) cluster.Mend(w);
    }
    if (i == 60 || i == 140) cluster.RestartMaster();
  }
  EXPECT_TRUE(cluster.RunUntilIdle(3600)) << "jobs still live after an hour";
  const auto outputs = cluster.Outputs();
  EXPECT_THAT(outputs, SizeIs(kJobs));
  EXPECT_THAT(outputs, Each(Pair(::testing::_, JobState::kSucceeded)));
  for (const auto& [output, state] : outputs)
    EXPECT_TRUE(cluster.control().files().names().Stat(output + "/_SUCCESS").ok()) << output;
  return cluster.Journal();
}

TEST(SimulatedClusterTest, TwoHundredJobsOnFiftyWorkersTwiceTheSame) {
  const std::vector<std::string> first = RunBatch(1, false);
  EXPECT_GT(first.size(), 5000u);
  EXPECT_EQ(first, RunBatch(1, false));
}

TEST(SimulatedClusterTest, FaultsChangeNoOutcomeAndRepeatToo) {
  const std::vector<std::string> first = RunBatch(2, true);
  EXPECT_EQ(first, RunBatch(2, true));
}

// Opens a file for writing, as a client does.
Result<dfs::FileId> Create(master::Control& control, const std::string& path) {
  master::Step step = control.steps().Begin();
  const Result<dfs::FileId> file = control.files().Create(path, {}, step.now, &step.batch);
  control.steps().FinishLazily(std::move(step));
  return file;
}

// A path whose writer went away is free again when dfs.lease_grace (10 s) is over, not before.
TEST(SimulatedClusterTest, TheFileOfAWriterThatWentAwayIsGivenUpAfterTheGrace) {
  SimulatedCluster cluster({.workers = 1});
  master::Control& control = cluster.control();
  const Result<dfs::FileId> file = Create(control, "/f");
  ASSERT_TRUE(file.ok()) << file.status().message();
  control.open_files().Drop(*file, control.open_files().Take(*file));
  cluster.Advance(9);
  EXPECT_EQ(Create(control, "/f").status().code(), StatusCode::kBusy);
  cluster.Advance(2);
  EXPECT_TRUE(Create(control, "/f").ok());
}

// One whose connection stands, and who says nothing over it, keeps his path for dfs.lease_limit (5 min).
TEST(SimulatedClusterTest, TheFileOfASilentWriterIsGivenUpAfterTheLimit) {
  SimulatedCluster cluster({.workers = 1});
  master::Control& control = cluster.control();
  const Result<dfs::FileId> file = Create(control, "/f");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::uint64_t token = control.open_files().Take(*file);
  cluster.Advance(298);
  EXPECT_TRUE(control.open_files().Renew(*file, token).ok());
  cluster.Advance(298);
  EXPECT_EQ(Create(control, "/f").status().code(), StatusCode::kBusy);
  cluster.Advance(4);
  EXPECT_EQ(control.open_files().Renew(*file, token).code(), StatusCode::kNotFound);
  EXPECT_TRUE(Create(control, "/f").ok());
}

// Otherwise what was synced of an attempt's output could be seen though the attempt loses.
TEST(SimulatedClusterTest, AFileThatWasHandedOverCannotBeSynced) {
  SimulatedCluster cluster({.workers = 1});
  const Result<dfs::FileId> file = Create(cluster.control(), "/f");
  ASSERT_TRUE(file.ok()) << file.status().message();
  dfs::wire::FileLease::Client lease =
      master::MakeFileLease(master::NamePartsOf(cluster.control()).leases, *file, cluster.control().callers().Make());
  const auto sync = [&] {
    std::string answer = "none";
    auto call = lease.syncRequest()
                    .send()
                    .then([&](auto&&) { answer = "synced"; })
                    .eagerlyEvaluate([&](kj::Exception&& failure) { answer = failure.getDescription().cStr(); });
    cluster.Advance(0.1);
    return answer;
  };
  EXPECT_EQ(sync(), "synced");
  cluster.control().open_files().HandOver(*file);
  EXPECT_THAT(sync(), HasSubstr("was handed over"));
}

// Every output that the master counts on is served by its worker: a reduce that waits for another one waits for ever.
void ExpectOutputsServed(SimulatedCluster& cluster, std::uint32_t workers) {
  std::set<AttemptId> served;
  for (std::uint32_t w = 0; w < workers; ++w) served.insert(cluster.Served(w).begin(), cluster.Served(w).end());
  for (const JobId id : cluster.control().jobs().JobsAfter(JobId{0}, 1000, true)) {
    const sched::JobState& job = *cluster.control().jobs().cluster().FindJob(id);
    for (std::uint32_t map = 0; map < job.maps.size(); ++map) {
      if (!job.maps[map].succeeded() || job.progress.reduces == 0) continue;
      EXPECT_TRUE(served.contains(MapAttemptId(id, map, job.maps[map].winner))) << "map " << map;
    }
  }
}

// The master journals successes, dies before it answers, and starts again: what is done stays done.
void LoseAnswersAndGoOn(std::uint32_t reduces, double before_death) {
  SCOPED_TRACE(std::to_string(reduces) + " reduces, dead after " + std::to_string(before_death) + " s");
  SimulatedOptions options;
  options.workers = 4;
  options.racks = 1;
  options.settings = "[speculation]\nenabled = false\n";  // a duplicate that is not sent any more is lost by right
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 28);
  cluster.Submit("/in", "/out", reduces);
  cluster.Advance(before_death);
  const std::size_t answered = cluster.JournalLines("AttemptSucceeded");
  cluster.LoseAnswers();
  cluster.Advance(9);  // less than the limit of a call
  EXPECT_GT(cluster.JournalLines("AttemptSucceeded"), answered) << "there are no answers to lose";
  cluster.RestartMaster();
  cluster.Advance(5);
  ExpectOutputsServed(cluster, options.workers);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_EQ(cluster.Outputs()["/out"], JobState::kSucceeded);
  EXPECT_EQ(cluster.JournalLines("AttemptSucceeded"), 28 + reduces) << "a task that had succeeded ran again";
  EXPECT_EQ(cluster.JournalLines("AttemptLost"), 0u);
}

TEST(SimulatedClusterTest, SuccessesWhoseAnswersAreLostStand) {
  for (const std::uint32_t reduces : {4u, 1u, 0u}) {
    for (const double before_death : {8.0, 14.0, 20.0}) LoseAnswersAndGoOn(reduces, before_death);
  }
}

TEST(SimulatedClusterTest, ReducesWhoseAnswersAreLostStand) {
  LoseAnswersAndGoOn(4, 42);
  LoseAnswersAndGoOn(4, 46);
}

// A broken connection alone loses answers too.
TEST(SimulatedClusterTest, ConnectionsThatBreakAtAnyMomentLoseNothing) {
  SimulatedOptions options;
  options.workers = 4;
  options.racks = 1;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 60);
  cluster.Submit("/in", "/out", 3);
  Random random(17);
  for (int i = 0; i < 100; ++i) {
    const auto worker = static_cast<std::uint32_t>(random.Below(options.workers));
    cluster.Cut(worker);
    cluster.Advance(0.2 * random.Unit());
    cluster.Mend(worker);
    cluster.Advance(2 * random.Unit());
  }
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_EQ(cluster.Outputs()["/out"], JobState::kSucceeded);
  EXPECT_EQ(cluster.JournalLines("AttemptSucceeded"), 63u);
}

TEST(SimulatedClusterTest, AnotherSeedIsAnotherHistory) { EXPECT_NE(RunBatch(3, false), RunBatch(4, false)); }

// Every success follows a launch of that attempt, and no task succeeds twice unless its output was lost in between.
TEST(SimulatedClusterTest, TheJournalTellsAStoryThatHolds) {
  std::set<AttemptId> running;
  std::set<TaskId> succeeded;
  for (const std::string& line : RunBatch(5, false)) {
    const auto parsed = sched::ParseJournalLine(line);
    ASSERT_TRUE(parsed.has_value()) << line;
    const auto* event = std::get_if<sched::Event>(&parsed->content);
    if (event == nullptr) continue;
    if (const auto* launched = std::get_if<sched::AttemptLaunched>(event)) {
      EXPECT_TRUE(running.insert(launched->attempt).second) << line;
    } else if (const auto* done = std::get_if<sched::AttemptSucceeded>(event)) {
      EXPECT_EQ(running.erase(done->attempt), 1u) << line;
      EXPECT_TRUE(succeeded.insert(done->attempt.task).second) << line;
      EXPECT_LE(done->attempt.number, 1u) << "without faults the first attempt or its duplicate succeeds: " << line;
      std::erase_if(running, [&](const AttemptId& other) { return other.task == done->attempt.task; });
    }
  }
  EXPECT_TRUE(running.empty());
}

// A client that waits for a slow replica asks again: the others are not read once more.
TEST(SimulatedClusterTest, VerifyAsksTheNamedReplicasAlone) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  cluster.AddFile("/f", 1);
  const dfs::BlockId block = cluster.control().files().Locate("/f", 0, 1).value()[0].block.id;
  using Name = std::pair<dfs::BlockId, NodeId>;
  dfs::wire::NameService::Client names =
      master::MakeNameService(master::NamePartsOf(cluster.control()), cluster.control().callers().Make());
  const auto verify = [&](const std::vector<Name>& again) {
    auto request = names.verifyRequest();
    request.setPath(master::ToData("/f"));
    auto named = request.initAgain(static_cast<unsigned>(again.size()));
    for (unsigned i = 0; i < named.size(); ++i)
      named[i].setBlock(again[i].first), named[i].setNode(again[i].second.value);
    std::vector<Name> asked;
    bool answered = false;
    auto call = request.send()
                    .then([&](capnp::Response<dfs::wire::NameService::VerifyResults>&& answer) {
                      for (const auto replica : answer.getReplicas())
                        asked.emplace_back(replica.getBlock(), NodeId{replica.getNode()});
                      EXPECT_EQ(answer.getNextBlock(), 1u);
                      EXPECT_FALSE(answer.getMore());
                      answered = true;
                    })
                    .eagerlyEvaluate([](kj::Exception&& failure) { FAIL() << failure.getDescription().cStr(); });
    cluster.Advance(0.1);
    EXPECT_TRUE(answered);
    return asked;
  };
  EXPECT_THAT(verify({{block, 2_n}, {block, 7_n}, {block + 1, 1_n}}), ElementsAre(Name(block, 2_n)));
  EXPECT_THAT(verify({{block, 7_n}}), IsEmpty());
}

}  // namespace
}  // namespace millrace
