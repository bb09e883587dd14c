#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/cluster_id.h"
#include "master/cluster_record.h"
#include "master/name_service.h"
#include "master/wire_codec.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/journal_text.h"
#include "simulated_cluster.h"

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
  EXPECT_THAT(outputs, Each(Pair(::testing::_, master::JobState::kSucceeded)));
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

SimulatedOptions OneWorker() {
  SimulatedOptions options;
  options.workers = 1;
  return options;
}

// Opens a file for writing, as a client does.
Result<dfs::FileId> Create(master::Control& control, const std::string& path) {
  master::Step step = control.Begin();
  const Result<dfs::FileId> file = control.files().Create(path, {}, step.now, &step.batch);
  control.FinishLazily(std::move(step));
  return file;
}

// A path whose writer went away is free again when dfs.lease_grace (10 s) is over, not before.
TEST(SimulatedClusterTest, TheFileOfAWriterThatWentAwayIsGivenUpAfterTheGrace) {
  SimulatedCluster cluster(OneWorker());
  master::Control& control = cluster.control();
  const Result<dfs::FileId> file = Create(control, "/f");
  ASSERT_TRUE(file.ok()) << file.status().message();
  control.DropLease(*file, control.TakeLease(*file));
  cluster.Advance(9);
  EXPECT_EQ(Create(control, "/f").status().code(), StatusCode::kBusy);
  cluster.Advance(2);
  EXPECT_TRUE(Create(control, "/f").ok());
}

// One whose connection stands, and who says nothing over it, keeps his path for dfs.lease_limit (5 min).
TEST(SimulatedClusterTest, TheFileOfASilentWriterIsGivenUpAfterTheLimit) {
  SimulatedCluster cluster(OneWorker());
  master::Control& control = cluster.control();
  const Result<dfs::FileId> file = Create(control, "/f");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::uint64_t token = control.TakeLease(*file);
  cluster.Advance(298);
  EXPECT_TRUE(control.RenewLease(*file, token).ok());
  cluster.Advance(298);
  EXPECT_EQ(Create(control, "/f").status().code(), StatusCode::kBusy);
  cluster.Advance(4);
  EXPECT_EQ(control.RenewLease(*file, token).code(), StatusCode::kNotFound);
  EXPECT_TRUE(Create(control, "/f").ok());
}

// Lines of the journal that begin so, after the time.
std::size_t CountLines(const SimulatedCluster& cluster, const std::string& event) {
  const auto journal = cluster.Journal();
  return static_cast<std::size_t>(std::count_if(journal.begin(), journal.end(), [&](const std::string& line) {
    return line.substr(line.find(' ') + 1).starts_with(event);
  }));
}

// Every output that the master counts on is served by its worker: a reduce that waits for another one waits for ever.
void ExpectOutputsServed(SimulatedCluster& cluster, std::uint32_t workers) {
  std::set<worker::AttemptId> served;
  for (std::uint32_t w = 0; w < workers; ++w) served.insert(cluster.Served(w).begin(), cluster.Served(w).end());
  for (const sched::JobId id : cluster.control().jobs().JobsAfter(sched::JobId{0}, 1000, true)) {
    const sched::JobState& job = *cluster.control().jobs().cluster().FindJob(id);
    for (std::uint32_t map = 0; map < job.maps.size(); ++map) {
      if (!job.maps[map].succeeded() || job.progress.reduces == 0) continue;
      EXPECT_TRUE(served.contains({id.value, false, map, job.maps[map].winner})) << "map " << map;
    }
  }
}

// The master journals successes, dies before it answers, and starts again: what is done stays done.
void LoseAnswersAndGoOn(std::uint32_t reduces, double before_death) {
  SCOPED_TRACE(std::to_string(reduces) + " reduces, dead after " + std::to_string(before_death) + " s");
  SimulatedOptions options;
  options.workers = 4;
  options.racks = 1;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 28);
  cluster.Submit("/in", "/out", reduces);
  cluster.Advance(before_death);
  const std::size_t answered = CountLines(cluster, "AttemptSucceeded");
  cluster.LoseAnswers();
  cluster.Advance(9);  // less than the limit of a call
  EXPECT_GT(CountLines(cluster, "AttemptSucceeded"), answered) << "there are no answers to lose";
  cluster.RestartMaster();
  cluster.Advance(5);
  ExpectOutputsServed(cluster, options.workers);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_EQ(cluster.Outputs()["/out"], master::JobState::kSucceeded);
  EXPECT_EQ(CountLines(cluster, "AttemptSucceeded"), 28 + reduces) << "a task that had succeeded ran again";
  EXPECT_EQ(CountLines(cluster, "AttemptLost"), 0u);
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
  EXPECT_EQ(cluster.Outputs()["/out"], master::JobState::kSucceeded);
  EXPECT_EQ(CountLines(cluster, "AttemptSucceeded"), 63u);
}

// Stopped, moved to another machine, swapped out: that nobody was heard meanwhile says nothing of the workers.
TEST(SimulatedClusterTest, APauseOfTheMasterLosesNobody) {
  SimulatedOptions options;
  options.workers = 4;
  options.racks = 1;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 28);
  cluster.Submit("/in", "/out", 4);
  cluster.Advance(20);
  for (const double pause : {2.0, 15.0, 3600.0}) {
    cluster.Pause(pause);
    cluster.Advance(3);
  }
  EXPECT_EQ(CountLines(cluster, "NodeLost"), 0u);
  EXPECT_EQ(CountLines(cluster, "NodeJoined"), 4u);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_EQ(CountLines(cluster, "AttemptSucceeded"), 32u);
}

TEST(SimulatedClusterTest, AWorkerThatDiedInAPauseIsLostInItsTime) {
  SimulatedOptions options;
  options.workers = 2;
  options.racks = 1;
  SimulatedCluster cluster(options);
  cluster.Cut(1);
  cluster.Pause(15);
  cluster.Advance(1);
  EXPECT_EQ(CountLines(cluster, "NodeLost"), 0u);
  cluster.Advance(10);
  EXPECT_EQ(CountLines(cluster, "NodeLost"), 1u);
}

TEST(SimulatedClusterTest, AWorkerOfAnotherClusterIsRefusedAndNothingChanges) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const std::string stranger(32, 'b');
  const std::size_t lines = cluster.Journal().size();
  const Status refused = cluster.RegisterAs({"stranger", stranger});
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr(stranger));
  EXPECT_THAT(refused.message(), HasSubstr(cluster.control().cluster()));
  EXPECT_EQ(cluster.RegisterAs({"nobody", ""}).code(), StatusCode::kInvalid);
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(2));
  EXPECT_EQ(cluster.Journal().size(), lines);
  EXPECT_TRUE(cluster.RegisterAs({"friend", cluster.control().cluster()}).ok());
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(3));
}

TEST(SimulatedClusterTest, TheStorageOfAWorkerThatAnswersIsNotTakenOver) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const std::size_t lines = cluster.Journal().size();
  const SimulatedCluster::Stranger thief{"thief", cluster.control().cluster(), "storage0"};
  const Status refused = cluster.RegisterAs(thief);
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_THAT(refused.message(), HasSubstr("host0:1"));
  EXPECT_EQ(cluster.Journal().size(), lines) << "nothing happened to its tasks";
  cluster.Advance(30);
  EXPECT_EQ(cluster.control().nodes().FindByStorage("storage0")->facts.host, "host0");
  EXPECT_EQ(CountLines(cluster, "NodeLost"), 0u);
  cluster.Cut(0);
  const double before = cluster.seconds();
  EXPECT_TRUE(cluster.RegisterAs(thief).ok()) << "as a worker that starts again";
  EXPECT_LT(cluster.seconds() - before, 0.1) << "the connection broke: nobody is waited for";
  EXPECT_EQ(cluster.control().nodes().FindByStorage("storage0")->facts.host, "thief");
}

TEST(SimulatedClusterTest, TheStorageOfAWorkerThatIsSilentIsTakenOverWithinAHeartbeat) {
  SimulatedCluster cluster(OneWorker());
  ASSERT_TRUE(cluster.RegisterAs({"stopped", cluster.control().cluster(), "disk", true}).ok());
  const double before = cluster.seconds();
  EXPECT_TRUE(cluster.RegisterAs({"again", cluster.control().cluster(), "disk", true}).ok());
  EXPECT_GE(cluster.seconds() - before, 0.9) << "it was asked";
  EXPECT_LT(cluster.seconds() - before, 1.1);
  EXPECT_EQ(cluster.control().nodes().FindByStorage("disk")->facts.host, "again");
}

TEST(SimulatedClusterTest, WhoRegistersWhereAnotherWasTakesItsPlaceAtOnce) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const auto& nodes = cluster.control().nodes();
  cluster.Cut(0);
  ASSERT_TRUE(cluster.RegisterAs({"host0", cluster.control().cluster(), "new", true}).ok());
  EXPECT_FALSE(nodes.FindByStorage("storage0")->alive) << "what is written to it the new one has";
  EXPECT_TRUE(nodes.FindByStorage("new")->alive);
  EXPECT_EQ(CountLines(cluster, "NodeLost"), 1u);
  ASSERT_TRUE(cluster.RegisterAs({"host1", cluster.control().cluster(), "same", true}).ok());
  EXPECT_TRUE(nodes.FindByStorage("storage1")->alive) << "it is here";
}

TEST(SimulatedClusterTest, AWorkerThatIsLostForLongIsForgottenAndIsANewNodeWhenItComesBack) {
  SimulatedOptions options;
  options.workers = 2;
  options.forget_nodes_after = 600 * kSecond;
  SimulatedCluster cluster(options);
  const auto number = cluster.control().nodes().FindByStorage("storage1")->number;
  cluster.Cut(1);
  cluster.Advance(300);
  EXPECT_FALSE(cluster.control().nodes().Find(number)->alive);
  cluster.RestartMaster();  // it was lost before
  cluster.Advance(280);
  ASSERT_NE(cluster.control().nodes().Find(number), nullptr);
  EXPECT_GE(cluster.control().MillisSilent(*cluster.control().nodes().Find(number)), 500'000u);
  cluster.Advance(60);
  EXPECT_EQ(cluster.control().nodes().Find(number), nullptr);
  EXPECT_FALSE(cluster.control().files().blocks().Knows(number));
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(1)) << "who is heard stays";
  cluster.RestartMaster();
  cluster.Advance(30);
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(1)) << "it is on disk";
  cluster.Mend(1);
  cluster.Advance(30);
  const auto* back = cluster.control().nodes().FindByStorage("storage1");
  ASSERT_NE(back, nullptr);
  EXPECT_TRUE(back->alive);
  EXPECT_NE(back->number, 1u);
  EXPECT_NE(back->number, 2u);
}

TEST(SimulatedClusterTest, AWorkerThatMayHaveMissingBlocksIsForgottenByForceOnly) {
  SimulatedOptions options;
  options.workers = 2;
  options.forget_nodes_after = 600 * kSecond;
  SimulatedCluster cluster(options);
  auto& control = cluster.control();
  const auto number = control.nodes().FindByStorage("storage1")->number;
  control.files().blocks().Want({77, 100}, 1);
  control.files().blocks().Received(number, {77, 100});
  const auto forget = [&](master::NodeNumber node, bool force) {
    master::Step step = control.Begin();
    const Status status = control.ForgetNodes({node}, force, &step);
    control.FinishLazily(std::move(step));
    return status;
  };
  cluster.Advance(30);
  EXPECT_EQ(forget(number, true).code(), StatusCode::kBusy) << "alive";
  EXPECT_EQ(forget(99, true).code(), StatusCode::kNotFound);
  cluster.Cut(1);
  cluster.Advance(3600);
  EXPECT_EQ(forget(number, false).code(), StatusCode::kInvalid);
  EXPECT_NE(control.nodes().Find(number), nullptr) << "nor is it forgotten in time";
  EXPECT_TRUE(forget(number, true).ok());
  EXPECT_EQ(control.nodes().Find(number), nullptr);
  EXPECT_FALSE(control.files().blocks().Knows(number));
}

TEST(SimulatedClusterTest, AMasterWithAnotherDatabaseTouchesNoBlock) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    for (std::uint64_t id = 1; id <= 24; ++id) ASSERT_TRUE((*cluster.blocks(worker).Create(id))->Finish().ok());
  }
  auto other = MakeMemoryStore();
  ASSERT_TRUE(master::StoreClusterId(FormatClusterId(9, 9), other.get()).ok());
  auto own = cluster.RestartMasterWith(std::move(other));
  cluster.Advance(120);
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(0));
  for (std::uint32_t worker = 0; worker < 3; ++worker) EXPECT_THAT(cluster.blocks(worker).List(), SizeIs(24));
  (void)cluster.RestartMasterWith(std::move(own));
  cluster.Advance(10);
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(3));
  for (const auto& [number, node] : cluster.control().nodes().all()) EXPECT_TRUE(node.alive) << number;
}

// A file of one block, of which worker 0 has the only replica, and has said so.
dfs::BlockId StoreFile(SimulatedCluster& cluster, const std::string& path) {
  const std::string data(100, 'x');
  const std::vector<std::uint32_t> crcs = dfs::ChunkCrcs(data);
  master::Control& control = cluster.control();
  master::Step step = control.Begin();
  const auto file = control.files().Create(path, {.replication = 1}, step.now, &step.batch);
  const auto block = control.files().AddBlock(*file, std::nullopt, {}, &step.batch);
  auto writing = cluster.blocks(0).Create(block->id);
  EXPECT_TRUE((*writing)->Append(data, crcs).ok());
  EXPECT_TRUE((*writing)->Finish().ok());
  const std::vector<dfs::WrittenBlock> written = {{block->id, data.size(), {block->targets[0]}, dfs::BlockCrc(crcs)}};
  EXPECT_TRUE(control.files().Complete(*file, {}, written, step.now, &step.batch).ok());
  control.FinishLazily(std::move(step));
  cluster.Cut(0);
  cluster.Advance(1);
  cluster.Mend(0);
  cluster.Advance(30);
  return block->id;
}

void RemoveFile(SimulatedCluster& cluster, const std::string& path) {
  master::Step step = cluster.control().Begin();
  EXPECT_TRUE(cluster.control().files().Remove(path, false, &step.batch).ok());
  cluster.control().FinishLazily(std::move(step));
}

// A master that dies before the removal is on disk has the file again.
TEST(SimulatedClusterTest, BlocksAreDeletedOnceTheRemovalOfTheirFileIsOnDisk) {
  SimulatedCluster cluster(OneWorker());
  const dfs::BlockId kept = StoreFile(cluster, "/kept");
  const dfs::BlockId gone = StoreFile(cluster, "/gone");
  RemoveFile(cluster, "/gone");
  cluster.Advance(10);
  EXPECT_FALSE(cluster.blocks(0).Length(gone).has_value());
  cluster.LoseAnswers();
  RemoveFile(cluster, "/kept");
  cluster.Advance(10);
  EXPECT_TRUE(cluster.blocks(0).Length(kept).has_value());
}

// Ids are reserved in runs: the first of a run waits, and as long as it waits those behind it do, too.
TEST(SimulatedClusterTest, AnIdIsToldOnceTheDiskKnowsThatItIsTaken) {
  SimulatedCluster cluster(OneWorker());
  const auto is_told = [&cluster](const std::string& path) {
    master::Step step = cluster.control().Begin();
    EXPECT_TRUE(cluster.control().files().Create(path, {}, step.now, &step.batch).ok());
    bool told = false;
    const auto finished =
        cluster.control().FinishReserved(std::move(step)).then([&told] { told = true; }).eagerlyEvaluate(nullptr);
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

TEST(SimulatedClusterTest, TheEndOfAJobIsToldOnceItIsOnDisk) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  const auto is_told = [&cluster](std::uint32_t job) {
    bool told = false;
    const auto kept =
        cluster.control().EndKept(sched::JobId{job}).then([&told] { told = true; }).eagerlyEvaluate(nullptr);
    cluster.Advance(1);
    return told;
  };
  cluster.AddFile("/in", 1);
  cluster.Submit("/in", "/out/1", 0);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_TRUE(is_told(1));
  cluster.Submit("/in", "/out/2", 0);
  cluster.LoseAnswers();
  EXPECT_TRUE(is_told(2));  // that it runs
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_FALSE(is_told(2));
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
  const Status refused = cluster.control().CheckChange();
  EXPECT_EQ(refused.code(), StatusCode::kNoSpace);
  EXPECT_THAT(refused.message(), HasSubstr("the master's disk is full"));
  EXPECT_TRUE(cluster.control().CheckGoingOn().ok());
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", master::JobState::kSucceeded)));
  cluster.SetFree(1000 * kMiB);
  cluster.Advance(1);
  EXPECT_TRUE(cluster.control().CheckChange().ok());
}

TEST(FullDiskTest, JobsWaitWithoutBeingFailedAndGoOnByThemselvesAlsoOverAStart) {
  SimulatedOptions options;
  options.workers = 4;
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 40);
  cluster.Submit("/in", "/out", 2);
  cluster.Advance(20);
  const auto done = [&cluster] { return cluster.control().jobs().View(sched::JobId{1})->maps.done; };
  ASSERT_GT(done(), 0u);
  ASSERT_LT(done(), 40u);
  cluster.SetFree(kMiB);
  cluster.Advance(1);
  EXPECT_TRUE(cluster.control().Held());
  EXPECT_EQ(cluster.control().CheckGoingOn().code(), StatusCode::kBusy);
  const auto journal = cluster.Journal();
  const auto before = done();
  cluster.Advance(300);
  EXPECT_EQ(cluster.Journal(), journal) << "nothing is written";
  EXPECT_EQ(done(), before) << "nothing is taken in that cannot be kept";
  EXPECT_EQ(cluster.control().jobs().View(sched::JobId{1})->state, master::JobState::kRunning);

  cluster.RestartMaster();
  cluster.Advance(60);
  EXPECT_TRUE(cluster.control().Held());
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(4));
  for (const auto& [number, node] : cluster.control().nodes().all()) EXPECT_TRUE(node.alive) << number;
  EXPECT_FALSE(cluster.control().AwaitingReports()) << "blocks are listed, and can be read";
  EXPECT_EQ(cluster.Journal(), journal);
  EXPECT_EQ(done(), before);

  cluster.SetFree(1000 * kMiB);
  EXPECT_TRUE(cluster.RunUntilIdle(900));
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", master::JobState::kSucceeded)));
  EXPECT_EQ(cluster.control().jobs().View(sched::JobId{1})->figures.failed_attempts, 0u);
  const auto kept = cluster.Journal();
  cluster.RestartMaster();
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", master::JobState::kSucceeded)));
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
  const auto attempts = [&cluster] { return *cluster.control().jobs().Attempts(sched::JobId{1}); };
  ASSERT_THAT(attempts(), SizeIs(1));
  EXPECT_EQ(attempts()[0].state, master::AttemptState::kRunning);
  cluster.SetFree(1000 * kMiB);
  cluster.Advance(2);
  EXPECT_EQ(attempts()[0].state, master::AttemptState::kLost) << attempts()[0].reason;
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_THAT(attempts(), SizeIs(5)) << "four of its own fault";
}

TEST(StartTest, WhoIsAwaitedIsSaidAndASubmissionWaitsForIt) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  StoreFile(cluster, "/in");
  EXPECT_EQ(cluster.control().AwaitedLine(), "");
  cluster.Cut(0);
  cluster.RestartMaster();
  cluster.Advance(4);
  EXPECT_THAT(cluster.control().AwaitedLine(),
              HasSubstr("the master has started 4 s ago and waits for the reports of 1 of 3 workers (host0:"));
  EXPECT_THAT(cluster.control().AwaitedLine(), HasSubstr("for 11 s more at most (master.startup_grace)"));
  const auto& nodes = cluster.control().nodes();
  EXPECT_TRUE(cluster.control().Awaits(*nodes.FindByStorage("storage0")));
  EXPECT_FALSE(cluster.control().Awaits(*nodes.FindByStorage("storage1")));
  cluster.Mend(0);
  cluster.Submit("/in", "/out", 0);
  EXPECT_EQ(cluster.control().files().blocks().Health().missing, 0u) << "it was there before the job";
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", master::JobState::kSucceeded)));
}

TEST(StartTest, ASubmissionIsPutOffAndNotLeftWithoutAnAnswer) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  StoreFile(cluster, "/in");
  cluster.Cut(0);
  cluster.RestartMaster();
  const double before = cluster.seconds();
  cluster.Submit("/in", "/out", 0);
  EXPECT_GE(cluster.seconds() - before, 14) << "the block was awaited";
  EXPECT_LE(cluster.seconds() - before, 16);
  EXPECT_GE(cluster.put_off(), 6) << "and that was said every two seconds";
  EXPECT_EQ(cluster.control().AwaitedLine(), "") << "it is missing now";
}

TEST(SimulatedClusterTest, AnotherSeedIsAnotherHistory) { EXPECT_NE(RunBatch(3, false), RunBatch(4, false)); }

// Every success follows a launch of that attempt, and no task succeeds twice unless its output was lost in between.
TEST(SimulatedClusterTest, TheJournalTellsAStoryThatHolds) {
  std::set<sched::AttemptId> running;
  std::set<sched::TaskId> succeeded;
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
      std::erase_if(running, [&](const sched::AttemptId& other) { return other.task == done->attempt.task; });
    }
  }
  EXPECT_TRUE(running.empty());
}

// What a client that waits for a slow replica asks again: the others are not read once more.
TEST(SimulatedClusterTest, VerifyAsksTheNamedReplicasAlone) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  cluster.AddFile("/f", 1);
  const dfs::BlockId block = cluster.control().files().Locate("/f", 0, 1).value()[0].block.id;
  using Name = std::pair<dfs::BlockId, dfs::NodeId>;
  dfs::wire::NameService::Client names = master::MakeNameService(cluster.control());
  const auto verify = [&](const std::vector<Name>& again) {
    auto request = names.verifyRequest();
    request.setPath(master::ToData("/f"));
    auto named = request.initAgain(static_cast<unsigned>(again.size()));
    for (unsigned i = 0; i < named.size(); ++i) named[i].setBlock(again[i].first), named[i].setNode(again[i].second);
    std::vector<Name> asked;
    bool answered = false;
    auto call = request.send()
                    .then([&](capnp::Response<dfs::wire::NameService::VerifyResults>&& answer) {
                      for (const auto replica : answer.getReplicas())
                        asked.emplace_back(replica.getBlock(), replica.getNode());
                      EXPECT_EQ(answer.getNextBlock(), 1u);
                      EXPECT_FALSE(answer.getMore());
                      answered = true;
                    })
                    .eagerlyEvaluate([](kj::Exception&& failure) { FAIL() << failure.getDescription().cStr(); });
    cluster.Advance(0.1);
    EXPECT_TRUE(answered);
    return asked;
  };
  EXPECT_THAT(verify({{block, 2}, {block, 7}, {block + 1, 1}}), ElementsAre(Name(block, 2)));
  EXPECT_THAT(verify({{block, 7}}), IsEmpty());
}

}  // namespace
}  // namespace millrace
