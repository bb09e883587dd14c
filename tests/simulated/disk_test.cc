// SPDX-License-Identifier: Apache-2.0
// Tests answers that wait for the disk, and a disk that is full.
#include <gmock/gmock.h>

#include "base/rpc/status_codec.h"
#include "dfs/data/block_store.h"
#include "master/control/wire_codec.h"
#include "master/service/master_service.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

void RemoveFile(SimulatedCluster& cluster, const std::string& path) {
  master::Step step = cluster.control().steps().Begin();
  EXPECT_TRUE(cluster.control().files().Remove(path, false, &step.batch).ok());
  cluster.control().steps().FinishLazily(std::move(step));
}

// A master that dies before the removal is on disk has the file again.
TEST(DiskTest, BlocksAreDeletedOnceTheRemovalOfTheirFileIsOnDisk) {
  SimulatedCluster cluster({.workers = 1});
  const dfs::BlockId kept = cluster.StoreFile("/kept");
  const dfs::BlockId gone = cluster.StoreFile("/gone");
  RemoveFile(cluster, "/gone");
  cluster.Advance(10);
  EXPECT_FALSE(cluster.blocks(0).Length(gone).has_value());
  cluster.LoseAnswers();
  RemoveFile(cluster, "/kept");
  cluster.Advance(10);
  EXPECT_TRUE(cluster.blocks(0).Length(kept).has_value());
}

// Ids are reserved in runs: the first of a run waits, and as long as it waits those behind it do, too.
TEST(DiskTest, AnIdIsToldOnceTheDiskKnowsThatItIsTaken) {
  SimulatedCluster cluster({.workers = 1});
  const auto is_told = [&cluster](const std::string& path) {
    master::Step step = cluster.control().steps().Begin();
    EXPECT_TRUE(cluster.control().files().Create(path, {}, step.now, &step.batch).ok());
    bool told = false;
    const auto finished = cluster.control()
                              .steps()
                              .FinishReserved(std::move(step))
                              .then([&told] { told = true; })
                              .eagerlyEvaluate(nullptr);
    cluster.Advance(1);
    return told;
  };
  cluster.LoseAnswers();
  EXPECT_FALSE(is_told("/a"));
  EXPECT_FALSE(is_told("/b"));
  cluster.RestartMaster();
  EXPECT_TRUE(is_told("/c"));
  cluster.LoseAnswers();
  EXPECT_TRUE(is_told("/d"));  // of a run that the disk knows
}

// A master that lost power gives a number that the disk does not know to another job, whose attempts its workers would
// take for those of the first.
TEST(DiskTest, WorkersHearOfAJobOnceTheDiskKnowsThatItsNumberIsTaken) {
  SimulatedCluster cluster({.workers = 2});
  cluster.AddFile("/in", 1);
  const auto jobs = [&cluster] { return cluster.control().jobs().JobsAfter(JobId{0}, 100, false).size(); };
  cluster.LoseAnswers();
  cluster.SubmitAndForget("/in", "/out/0");
  cluster.Advance(10);
  EXPECT_EQ(jobs(), 0u);
  cluster.RestartMaster();
  cluster.Submit("/in", "/out/1", 0);
  EXPECT_EQ(jobs(), 1u);
  cluster.LoseAnswers();
  for (int i = 0; i < 100; ++i) {
    cluster.SubmitAndForget("/in", "/later/" + std::to_string(i));
    cluster.Advance(0.1);
  }
  EXPECT_GT(jobs(), 1u) << "of the run that the disk knows";
  EXPECT_LT(jobs(), 50u);
}

TEST(DiskTest, TheEndOfAJobIsToldOnceItIsOnDisk) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  const auto is_told = [&cluster](JobId job) {
    bool told = false;
    const auto kept = cluster.control().steps().EndKept(job).then([&told] { told = true; }).eagerlyEvaluate(nullptr);
    cluster.Advance(1);
    return told;
  };
  cluster.AddFile("/in", 1);
  cluster.Submit("/in", "/out/1", 0);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_TRUE(is_told(JobId{1}));
  cluster.Submit("/in", "/out/2", 0);
  cluster.LoseAnswers();
  EXPECT_TRUE(is_told(JobId{2}));  // that it runs
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_FALSE(is_told(JobId{2}));
}

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(FullDiskTest, TheReserveIsForWhatRuns) {
  SimulatedOptions options;
  options.workers = 4;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 20);
  cluster.Submit("/in", "/out", 2);
  cluster.SetFree(40 * kMiB);
  cluster.Advance(1);
  const Status refused = cluster.control().room().CheckChange();
  EXPECT_EQ(refused.code(), StatusCode::kNoSpace);
  EXPECT_THAT(refused.message(), HasSubstr("the master's disk is full"));
  EXPECT_TRUE(cluster.control().room().CheckGoingOn().ok());
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", JobState::kSucceeded)));
  cluster.SetFree(1000 * kMiB);
  cluster.Advance(1);
  EXPECT_TRUE(cluster.control().room().CheckChange().ok());
}

TEST(FullDiskTest, JobsWaitWithoutBeingFailedAndGoOnByThemselvesAlsoOverAStart) {
  SimulatedOptions options;
  options.workers = 4;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 40);
  cluster.Submit("/in", "/out", 2);
  cluster.Advance(20);
  const auto done = [&cluster] { return cluster.control().jobs().View(JobId{1})->maps.done; };
  ASSERT_GT(done(), 0u);
  ASSERT_LT(done(), 40u);
  cluster.SetFree(kMiB);
  cluster.Advance(1);
  EXPECT_TRUE(cluster.control().room().Held());
  EXPECT_EQ(cluster.control().room().CheckGoingOn().code(), StatusCode::kBusy);
  const auto journal = cluster.Journal();
  const auto before = done();
  cluster.Advance(300);
  EXPECT_EQ(cluster.Journal(), journal) << "nothing is written";
  EXPECT_EQ(done(), before) << "nothing is taken in that cannot be kept";
  EXPECT_EQ(cluster.control().jobs().View(JobId{1})->state, JobState::kRunning);

  cluster.RestartMaster();
  cluster.Advance(60);
  EXPECT_TRUE(cluster.control().room().Held());
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(4));
  for (const auto& [number, node] : cluster.control().nodes().all()) EXPECT_TRUE(node.alive) << ToText(number);
  EXPECT_FALSE(cluster.control().workers().AwaitingReports()) << "blocks are listed, and can be read";
  EXPECT_EQ(cluster.Journal(), journal);
  EXPECT_EQ(done(), before);

  cluster.SetFree(1000 * kMiB);
  EXPECT_TRUE(cluster.RunUntilIdle(900));
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", JobState::kSucceeded)));
  EXPECT_EQ(cluster.control().jobs().View(JobId{1})->figures.failed_attempts, 0u);
  const auto kept = cluster.Journal();
  cluster.RestartMaster();
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", JobState::kSucceeded)));
  EXPECT_GT(kept.size(), journal.size());
}

TEST(FullDiskTest, AnAttemptThatFailsWhileNothingIsWrittenWasNotAtFault) {
  SimulatedOptions options;
  options.workers = 2;
  options.times.failure = 1;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 1);
  cluster.Submit("/in", "/out", 0);
  cluster.Advance(1);
  cluster.SetFree(kMiB);
  cluster.Advance(60);
  const auto attempts = [&cluster] { return *cluster.control().jobs().Attempts(JobId{1}); };
  ASSERT_THAT(attempts(), SizeIs(1));
  EXPECT_EQ(attempts()[0].state, AttemptState::kRunning);
  cluster.SetFree(1000 * kMiB);
  cluster.Advance(2);
  EXPECT_EQ(attempts()[0].state, AttemptState::kLost) << attempts()[0].reason;
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_THAT(attempts(), SizeIs(5)) << "four of its own fault";
}

// A node that lists its blocks again has them all, and its replica counts: what it was told to delete before is as if
// it had not been said.
TEST(FullDiskTest, WhatWasToBeDeletedBeforeANodeListedItsBlocksAnewIsNotDeletedAfterwards) {
  SimulatedCluster cluster({.workers = 2});
  const dfs::BlockId block = cluster.StoreFile("/kept");
  const std::string data(100, 'x');
  auto writing = cluster.blocks(1).Create(block);
  ASSERT_TRUE((*writing)->Append(data, dfs::ChunkCrcs(data)).ok());
  ASSERT_TRUE((*writing)->Finish().ok());
  cluster.SetFree(0);
  cluster.Advance(1);
  ASSERT_TRUE(cluster.control().room().Held());
  master::Step step = cluster.control().steps().Begin();
  ASSERT_TRUE(cluster.control().files().MakeDirectory("/new", "ann", step.now, &step.batch).ok());
  cluster.control().steps().FinishLazily(std::move(step));  // deletions wait for it

  dfs::BlockManager& known = cluster.control().files().blocks();
  const auto register_again = [&](std::uint32_t worker) {
    cluster.Cut(worker);
    cluster.Advance(1);
    cluster.Mend(worker);
    cluster.Advance(30);
  };
  const std::vector<NodeId> nodes = {cluster.control().nodes().FindByStorage("storage0")->number,
                                     cluster.control().nodes().FindByStorage("storage1")->number};
  known.SetAiling(nodes[0], true);
  register_again(1);  // it lists the second replica: one of both is to be deleted
  EXPECT_EQ(known.Replicas(block), std::vector{nodes[1]}) << "that of the node which ails";
  register_again(0);
  known.SetAiling(nodes[0], false);
  known.SetAiling(nodes[1], true);
  cluster.Advance(5);
  cluster.SetFree(1000 * kMiB);
  cluster.Advance(60);
  const int left = (cluster.blocks(0).Length(block) ? 1 : 0) + (cluster.blocks(1).Length(block) ? 1 : 0);
  EXPECT_EQ(left, 1);
}

// Changes that make room need none.
class FullestDiskTest : public testing::Test {
 protected:
  FullestDiskTest() {
    cluster_.SetSpare(std::uint64_t{1} << 20);
    cluster_.AddFile("/in", 40);
    cluster_.AddFile("/old", 2);
    cluster_.Submit("/in", "/out", 2);
    cluster_.Advance(20);
    cluster_.SetFree(0);
    cluster_.Advance(1);
    EXPECT_TRUE(cluster_.control().room().Held());
    names_ = master::MakeNameService(master::NamePartsOf(cluster_.control()), cluster_.control().callers().Make());
    jobs_ = master::MakeJobService(master::JobPartsOf(cluster_.control()), cluster_.control().callers().Make());
  }
  ~FullestDiskTest() noexcept override {
    names_ = nullptr;
    jobs_ = nullptr;
  }
  template <class Promise>
  Status Outcome(Promise&& promise) {
    Status status = Internal("not answered");
    auto done = promise
                    .then([&status](auto&&) { status = Status::Ok(); },
                          [&status](kj::Exception&& why) { status = rpc::FromException(why); })
                    .eagerlyEvaluate(nullptr);
    cluster_.Advance(1);
    return status;
  }
  Status Kill() {
    auto request = jobs_.killRequest();
    request.setJob(1);
    return Outcome(request.send());
  }
  Status Remove(const std::string& path) {
    auto request = names_.removeRequest();
    request.setPath(master::ToData(path));
    return Outcome(request.send());
  }
  Status Replicate(const std::string& path, std::uint32_t replication) {
    auto request = names_.setReplicationRequest();
    request.setPath(master::ToData(path));
    request.setReplication(replication);
    return Outcome(request.send());
  }
  Status Stat(const std::string& path) {
    auto request = names_.statRequest();
    request.setPath(master::ToData(path));
    return Outcome(request.send());
  }

  SimulatedCluster cluster_{{.workers = 4}};
  dfs::wire::NameService::Client names_ = nullptr;
  master::wire::JobService::Client jobs_ = nullptr;
};

TEST_F(FullestDiskTest, WhatMakesRoomIsTakenAndOnDisk) {
  EXPECT_EQ(Replicate("/old", 3).code(), StatusCode::kNoSpace);
  EXPECT_EQ(Replicate("/old", 1).message(), "");
  EXPECT_EQ(Remove("/old").message(), "");
  EXPECT_EQ(Kill().message(), "");
  EXPECT_EQ(cluster_.control().jobs().View(JobId{1})->state, JobState::kKilled);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    EXPECT_THAT(cluster_.Served(worker), IsEmpty()) << "its map outputs are gone";
  }
  names_ = nullptr;
  jobs_ = nullptr;
  cluster_.RestartMaster();
  EXPECT_EQ(cluster_.control().jobs().View(JobId{1})->state, JobState::kKilled);
  EXPECT_FALSE(cluster_.control().files().names().Stat("/old").ok());
}

TEST_F(FullestDiskTest, ReadsAreAnsweredWhileWorkersComeAndGo) {
  cluster_.Cut(0);
  cluster_.Advance(60);
  EXPECT_EQ(Stat("/in").message(), "");
  cluster_.Mend(0);
  cluster_.Advance(10);
  EXPECT_EQ(Stat("/in").message(), "");
}

// So that what is answered is on disk.
TEST_F(FullestDiskTest, WhenEvenThatIsUsedUpTheyAreRefused) {
  names_ = nullptr;
  jobs_ = nullptr;
  cluster_.SetSpare(10);
  cluster_.RestartMaster();
  cluster_.Advance(10);
  names_ = master::MakeNameService(master::NamePartsOf(cluster_.control()), cluster_.control().callers().Make());
  jobs_ = master::MakeJobService(master::JobPartsOf(cluster_.control()), cluster_.control().callers().Make());
  EXPECT_THAT(Kill().message(), HasSubstr("the master's disk is full"));
  EXPECT_THAT(Remove("/old").message(), HasSubstr("are left for changes that make room"));
  EXPECT_TRUE(cluster_.control().files().names().Stat("/old").ok());
  EXPECT_EQ(Stat("/old").message(), "") << "workers that registered have changed nothing";
  cluster_.Cut(0);
  cluster_.Advance(60);
  EXPECT_EQ(Stat("/old").code(), StatusCode::kBusy) << "that a worker is lost cannot be stored";
  EXPECT_EQ(Kill().code(), StatusCode::kNoSpace) << "and nobody is let wait for what will not be done";
  cluster_.SetFree(1000 * kMiB);
  cluster_.Advance(1);
  EXPECT_EQ(Remove("/old").message(), "");
}

}  // namespace
}  // namespace millrace
