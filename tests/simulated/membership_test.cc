// SPDX-License-Identifier: Apache-2.0
// Workers that come, are not heard, and go; and who is awaited when a master starts.
#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "base/cluster_id.h"
#include "base/rpc/status_codec.h"
#include "dfs/data/block_store.h"
#include "master/cluster/lineage.h"
#include "master/control/cluster_record.h"
#include "master/control/cluster_summary.h"
#include "master/control/wire_codec.h"
#include "master/service/master_service.h"
#include "tests/fakes/memory_store.h"
#include "tests/node_ids.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

std::string LineOf(const std::vector<Notice>& notices, const std::string& name) {
  for (const Notice& notice : notices) {
    if (notice.name() == name) return notice.line;
  }
  return "";
}

// What the lines advise can be done.
TEST(MembershipTest, TheLinesOfBlocksSayWhatHelps) {
  master::ClusterSummary summary;
  summary.live = 3;
  const auto missing = [&summary] { return LineOf(master::FaultsOf(summary), "missing-blocks"); };
  const auto under = [&summary] { return LineOf(master::WarningsOf(summary), "under-replicated"); };
  summary.blocks.missing = 1;
  summary.lost = 1;
  EXPECT_EQ(missing(),
            "1 block has no replica: bring back the workers that are lost; `millrace fs fsck` lists the files");
  EXPECT_THAT(LineOf(master::WarningsOf(summary), "node-lost"), HasSubstr("1 node is lost: bring it back, or take it"));
  summary.blocks.corrupt_replicas = 2;
  EXPECT_THAT(missing(), HasSubstr("1 block has no good replica: bring back the workers that are lost, or remove the "
                                   "files whose replicas are all corrupt"));
  summary.lost = 0;
  EXPECT_THAT(missing(), HasSubstr("1 block has no good replica: remove the files whose replicas are all corrupt, and "
                                   "make them again; "));
  summary.blocks.under_replicated = 2;
  EXPECT_THAT(under(), HasSubstr("2 blocks have too few replicas; they are copied as fast as dfs.copies_per_node"));
  summary.maintained = 2;
  EXPECT_THAT(under(), HasSubstr("as fast as dfs.copies_per_node allows"));
  EXPECT_EQ(LineOf(master::FaultsOf(summary), "all-draining"), "");
  summary.draining = 1;
  EXPECT_THAT(under(), HasSubstr("2 blocks have too few replicas; they are copied once a node that stays in use can"));
  EXPECT_THAT(LineOf(master::FaultsOf(summary), "all-draining"), HasSubstr("in maintenance or leaves"));
}

// Stopped, moved to another machine, swapped out: that nobody was heard meanwhile says nothing of the workers.
TEST(MembershipTest, APauseOfTheMasterLosesNobody) {
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
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u);
  EXPECT_EQ(cluster.JournalLines("NodeJoined"), 4u);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_EQ(cluster.JournalLines("AttemptSucceeded"), 32u);
}

TEST(MembershipTest, AWorkerThatDiedInAPauseIsLostInItsTime) {
  SimulatedOptions options;
  options.workers = 2;
  options.racks = 1;
  SimulatedCluster cluster(options);
  cluster.Cut(1);
  cluster.Pause(15);
  cluster.Advance(1);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u);
  cluster.Advance(10);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 1u);
}

TEST(MembershipTest, AWorkerWhoseProcessIsGoneIsNotWaitedFor) {
  SimulatedCluster cluster({.workers = 2});
  cluster.SetPort(1, SimulatedCluster::Port::kDeserted);
  cluster.Advance(30);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u) << "its connection stands";
  cluster.Cut(1);
  cluster.Advance(0.01);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 1u);
}

TEST(MembershipTest, AProcessMayListenForAMomentAfterItsConnectionEnded) {
  SimulatedCluster cluster({.workers = 2});
  cluster.Cut(1);
  cluster.Advance(0.5);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u);
  cluster.SetPort(1, SimulatedCluster::Port::kDeserted);
  cluster.Advance(0.3);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 1u);
}

// master.disconnect_grace is 3 s.
TEST(MembershipTest, AWorkerOfWhichTheMachineSaysNothingHasTheGraceToComeBack) {
  SimulatedCluster cluster({.workers = 3});
  cluster.SetPort(1, SimulatedCluster::Port::kSilent);
  cluster.Cut(1);
  cluster.Cut(2);
  cluster.Advance(0.4);
  cluster.Mend(2);
  cluster.Advance(2.5);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u);
  cluster.Advance(3);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 1u);
  EXPECT_FALSE(cluster.control().nodes().FindByStorage("storage1")->alive);
}

TEST(MembershipTest, WhoIsBackBeforeTheMachineIsAskedAgainStays) {
  SimulatedCluster cluster({.workers = 2});
  cluster.SetPort(1, SimulatedCluster::Port::kSilent);
  cluster.Cut(1);
  cluster.Advance(0.1);
  cluster.SetPort(1, SimulatedCluster::Port::kListens);
  cluster.Mend(1);
  cluster.Advance(2);
  EXPECT_TRUE(cluster.control().nodes().FindByStorage("storage1")->alive);
  cluster.SetPort(1, SimulatedCluster::Port::kDeserted);
  cluster.Advance(60);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u) << "what was asked of the connection before says nothing of this one";
}

TEST(MembershipTest, AMasterOneLevelAheadOrBehindTakesWorkersAndOneTwoLevelsAheadDoesNot) {
  for (const std::uint32_t level : {kProtocolLevel - 1, kProtocolLevel, kProtocolLevel + 1}) {
    SimulatedCluster cluster({.workers = 2, .master = {"9.9.9", level}});
    EXPECT_THAT(cluster.control().nodes().all(), SizeIs(2)) << level;
    EXPECT_EQ(cluster.control().nodes().FindByStorage("storage1")->facts.release.version, ThisRelease().version);
  }
  SimulatedCluster cluster({.workers = 2, .master = {"9.9.9", kProtocolLevel + 2}});
  cluster.Advance(60);
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(0)) << "the workers see it and do not register";
  const Status refused = cluster.RegisterAs({"old", cluster.control().identity().cluster});
  EXPECT_EQ(refused.code(), StatusCode::kInvalid) << "and the master sees it, too";
  EXPECT_THAT(refused.message(), HasSubstr("upgrade the worker at old"));
  EXPECT_THAT(refused.message(), HasSubstr("9.9.9"));
}

TEST(MembershipTest, TheSummarySaysWhatIsWrongAndNothingElse) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  cluster.Advance(30);
  master::ClusterSummary summary = master::Summarize(cluster.control().summary());
  EXPECT_THAT(master::FaultsOf(summary), SizeIs(0));
  EXPECT_THAT(master::WarningsOf(summary), SizeIs(0));
  EXPECT_EQ(summary.live, 3u);
  EXPECT_EQ(summary.map_slots, 6u);
  EXPECT_EQ(summary.workers.size(), 1u);
  EXPECT_NEAR(static_cast<double>(summary.up) / kSecond, cluster.seconds(), 1.0);

  cluster.StoreFile("/only");  // on worker 0
  cluster.Cut(0);
  cluster.Advance(30);
  summary = master::Summarize(cluster.control().summary());
  EXPECT_EQ(summary.live, 2u);
  EXPECT_EQ(summary.lost, 1u);
  ASSERT_THAT(master::FaultsOf(summary), SizeIs(1));
  EXPECT_THAT(master::FaultsOf(summary)[0].line, HasSubstr("1 block has no replica"));
  EXPECT_EQ(master::FaultsOf(summary)[0].name(), "missing-blocks");
  EXPECT_THAT(master::WarningsOf(summary), Contains(Field(&Notice::line, HasSubstr("1 node is lost"))));
  cluster.Mend(0);
  cluster.Advance(30);
  EXPECT_THAT(master::FaultsOf(master::Summarize(cluster.control().summary())), SizeIs(0));

  cluster.RestartMaster();
  EXPECT_THAT(master::FaultsOf(master::Summarize(cluster.control().summary())),
              Each(Field(&Notice::line, HasSubstr("waits for"))));
  cluster.Advance(30);
  EXPECT_THAT(master::FaultsOf(master::Summarize(cluster.control().summary())), SizeIs(0));
}

// Nothing is missing, and one failure more would change that: so it is no fault, which takes a master from its clients,
// and no mere warning.
TEST(MembershipTest, BlocksWithASingleReplicaAreARiskOfTheirOwn) {
  SimulatedCluster cluster({.workers = 2, .racks = 1});
  cluster.AddFile("/in", 7);
  cluster.Advance(30);
  EXPECT_EQ(master::Summarize(cluster.control().summary()).blocks.single_replica, 0u);
  cluster.Cut(1);
  cluster.Advance(30);
  master::ClusterSummary summary = master::Summarize(cluster.control().summary());
  EXPECT_EQ(summary.blocks.single_replica, 7u);
  EXPECT_EQ(summary.blocks.under_replicated, 0u) << "one node holds no more";
  EXPECT_THAT(master::FaultsOf(summary), SizeIs(0));
  const std::vector<Notice> warnings = master::WarningsOf(summary);
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings[0].name(), "single-replica") << "before all that can wait";
  EXPECT_EQ(warnings[0].level(), NoticeLevel::kRisk);
  EXPECT_THAT(warnings[0].line, HasSubstr("7 blocks have one replica"));

  cluster.RestartMaster();
  cluster.Advance(0.1);
  summary = master::Summarize(cluster.control().summary());
  ASSERT_NE(summary.awaiting, "");
  EXPECT_THAT(master::WarningsOf(summary), Not(Contains(Field(&Notice::code, NoticeCode::kSingleReplica))))
      << "what the other worker has is not known yet";
  cluster.Mend(1);
  cluster.Advance(60);
  summary = master::Summarize(cluster.control().summary());
  EXPECT_EQ(summary.blocks.single_replica, 0u);
  EXPECT_THAT(master::WarningsOf(summary), SizeIs(0));
}

TEST(MembershipTest, WhatWorkersSayOfTheirPythonIsKnownAndBounded) {
  SimulatedCluster cluster({.workers = 2});
  const auto known = [&] { return cluster.control().nodes().FindByStorage("storage1")->python; };
  cluster.Advance(5);
  EXPECT_EQ(known(), "") << "an older worker says nothing";
  cluster.SetWorkerPython("/usr/bin/python3.11");
  cluster.Advance(5);
  EXPECT_EQ(known(), "/usr/bin/python3.11");
  for (const std::string& wrong :
       {std::string("python3.11"), "/" + std::string(300, 'x'), std::string("/usr/\n3.11")}) {
    cluster.SetWorkerPython("/usr/bin/python3.13");
    cluster.Advance(5);
    EXPECT_EQ(known(), "/usr/bin/python3.13");
    cluster.SetWorkerPython(wrong);
    cluster.Advance(5);
    EXPECT_EQ(known(), "") << wrong;
  }
}

TEST(MembershipTest, CertificatesThatEndSoonAreToldOfTheMasterTheAuthorityAndEachWorker) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  const auto notices = [&] { return master::WarningsOf(master::Summarize(cluster.control().summary())); };
  const Micros day = 24 * kHour;
  cluster.SetCertificates({.own = 300 * day, .authority = 3000 * day}, 200 * day);
  cluster.Advance(5);
  EXPECT_THAT(notices(), SizeIs(0));
  cluster.SetCertificates({.own = 300 * day, .authority = 29 * day}, 20 * day);
  cluster.Advance(5);
  ASSERT_THAT(notices(), SizeIs(1));
  EXPECT_EQ(notices()[0].name(), "certificate-ends");
  EXPECT_THAT(notices()[0].line,
              ::testing::AllOf(HasSubstr("4 certificates end within 30 days: that of node "), HasSubstr("in 19 days"),
                               HasSubstr("the authority's in 28 days (1970-01-30T00:00:00Z)")));
  cluster.SetCertificates({.own = kSecond, .authority = 29 * day}, 200 * day);
  cluster.Advance(5);
  ASSERT_THAT(notices(), SizeIs(2));
  EXPECT_EQ(notices()[0].name(), "certificate-ended");
  EXPECT_EQ(notices()[0].level(), NoticeLevel::kRisk);
  EXPECT_THAT(notices()[0].line, HasSubstr("1 certificate has ended: the master's"));
  cluster.Cut(0);
  cluster.SetCertificates({.own = 300 * day, .authority = 3000 * day}, 200 * day);
  cluster.Advance(30);
  EXPECT_THAT(notices(), Not(Contains(Field(&Notice::code, NoticeCode::kCertificateEnds)))) << "they were renewed";
}

TEST(MembershipTest, AnExecutableThatNoJobNeedsIsRemovedInItsTime) {
  SimulatedCluster cluster({.workers = 2, .executable_retention = 600 * kSecond});
  cluster.StoreFile("/.millrace/executables/abc");
  const auto there = [&] { return cluster.control().files().names().Stat("/.millrace/executables/abc").ok(); };
  cluster.StoreFile("/elsewhere");
  cluster.Advance(500);
  EXPECT_TRUE(there());
  cluster.Advance(250);
  EXPECT_FALSE(there());
  EXPECT_TRUE(cluster.control().files().names().Stat("/elsewhere").ok());
}

TEST(MembershipTest, AClusterWithoutWorkersDoesNotWork) {
  SimulatedCluster cluster({.workers = 0});
  cluster.Advance(60);
  EXPECT_THAT(master::FaultsOf(master::Summarize(cluster.control().summary())),
              ::testing::ElementsAre(Field(&Notice::line, HasSubstr("no worker is here"))));
}

TEST(MembershipTest, AWorkerOfAnotherClusterIsRefusedAndNothingChanges) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const std::string stranger(32, 'b');
  const std::size_t lines = cluster.Journal().size();
  const Status refused = cluster.RegisterAs({"stranger", stranger});
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr(stranger));
  EXPECT_THAT(refused.message(), HasSubstr(cluster.control().identity().cluster));
  EXPECT_EQ(cluster.RegisterAs({"nobody", ""}).code(), StatusCode::kInvalid);
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(2));
  EXPECT_EQ(cluster.Journal().size(), lines);
  EXPECT_TRUE(cluster.RegisterAs({"friend", cluster.control().identity().cluster}).ok());
  EXPECT_THAT(cluster.control().nodes().all(), SizeIs(3));
}

TEST(MembershipTest, TheStorageOfAWorkerThatAnswersIsNotTakenOver) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const std::size_t lines = cluster.Journal().size();
  const SimulatedCluster::Stranger thief{"thief", cluster.control().identity().cluster, "storage0"};
  const Status refused = cluster.RegisterAs(thief);
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_THAT(refused.message(), HasSubstr("host0:1"));
  EXPECT_EQ(cluster.Journal().size(), lines) << "nothing happened to its tasks";
  cluster.Advance(30);
  EXPECT_EQ(cluster.control().nodes().FindByStorage("storage0")->facts.host, "host0");
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 0u);
  cluster.Cut(0);
  const double before = cluster.seconds();
  EXPECT_TRUE(cluster.RegisterAs(thief).ok()) << "as a worker that starts again";
  EXPECT_LT(cluster.seconds() - before, 0.1) << "the connection broke: nobody is waited for";
  EXPECT_EQ(cluster.control().nodes().FindByStorage("storage0")->facts.host, "thief");
}

TEST(MembershipTest, TheStorageOfAWorkerThatIsSilentIsTakenOverWithinAHeartbeat) {
  SimulatedCluster cluster({.workers = 1});
  ASSERT_TRUE(cluster.RegisterAs({"stopped", cluster.control().identity().cluster, "disk", true}).ok());
  const double before = cluster.seconds();
  EXPECT_TRUE(cluster.RegisterAs({"again", cluster.control().identity().cluster, "disk", true}).ok());
  EXPECT_GE(cluster.seconds() - before, 0.9) << "it was asked";
  EXPECT_LT(cluster.seconds() - before, 1.1);
  EXPECT_EQ(cluster.control().nodes().FindByStorage("disk")->facts.host, "again");
}

TEST(MembershipTest, WhoRegistersWhereAnotherWasTakesItsPlaceAtOnce) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const auto& nodes = cluster.control().nodes();
  cluster.Cut(0);
  ASSERT_TRUE(cluster.RegisterAs({"host0", cluster.control().identity().cluster, "new", true}).ok());
  EXPECT_FALSE(nodes.FindByStorage("storage0")->alive) << "what is written to it the new one has";
  EXPECT_TRUE(nodes.FindByStorage("new")->alive);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 1u);
}

TEST(MembershipTest, TheAddressOfAWorkerThatAnswersIsNotTakenOver) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const auto& nodes = cluster.control().nodes();
  const Status refused = cluster.RegisterAs({"host1", cluster.control().identity().cluster, "same", true});
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_THAT(refused.message(), HasSubstr("with another storage, answers there"));
  EXPECT_EQ(nodes.FindByStorage("same"), nullptr);
  EXPECT_TRUE(nodes.FindByStorage("storage1")->alive);
}

// Its machine died without a word: its connection still seems to stand, and a new one is at its address.
TEST(MembershipTest, WhoIsSilentAtTheAddressOfANewWorkerIsLostBeforeThatIsTakenIn) {
  SimulatedCluster cluster({.workers = 1});
  const auto& nodes = cluster.control().nodes();
  ASSERT_TRUE(cluster.RegisterAs({"stopped", cluster.control().identity().cluster, "old", true}).ok());
  const double before = cluster.seconds();
  ASSERT_TRUE(cluster.RegisterAs({"stopped", cluster.control().identity().cluster, "new", true}).ok());
  EXPECT_LT(cluster.seconds() - before, 1.1);
  EXPECT_FALSE(nodes.FindByStorage("old")->alive) << "what is written to it the new one has";
  EXPECT_TRUE(nodes.FindByStorage("new")->alive);
}

// What a master that has just started does not know yet may be on a worker that is still to come.
TEST(MembershipTest, NobodyIsForgottenWhileWorkersMayStillCome) {
  SimulatedOptions options;
  options.workers = 2;
  SimulatedCluster cluster(options);
  const auto number = cluster.control().nodes().FindByStorage("storage1")->number;
  cluster.Cut(1);
  cluster.RestartMaster();
  const auto forget = [&](bool force) {
    master::Control& control = cluster.control();
    master::Step step = control.steps().Begin();
    const Status status = control.workers().ForgetNodes({number}, force, &step);
    control.steps().FinishLazily(std::move(step));
    return status;
  };
  for (const bool force : {false, true}) EXPECT_THAT(forget(force).message(), HasSubstr("the master has just started"));
  cluster.Advance(120);
  EXPECT_TRUE(forget(false).ok());
}

TEST(MembershipTest, AWorkerThatIsLostForLongIsForgottenAndIsANewNodeWhenItComesBack) {
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
  EXPECT_GE(cluster.control().workers().MillisSilent(*cluster.control().nodes().Find(number)), 500'000u);
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
  EXPECT_NE(back->number, 1_n);
  EXPECT_NE(back->number, 2_n);
}

TEST(MembershipTest, AWorkerThatMayHaveMissingBlocksIsForgottenByForceOnly) {
  SimulatedOptions options;
  options.workers = 2;
  options.forget_nodes_after = 600 * kSecond;
  SimulatedCluster cluster(options);
  auto& control = cluster.control();
  const auto number = control.nodes().FindByStorage("storage1")->number;
  control.files().blocks().Want({77, 100}, 1);
  control.files().blocks().Written(number, {77, 100});
  const auto forget = [&](NodeId node, bool force) {
    master::Step step = control.steps().Begin();
    const Status status = control.workers().ForgetNodes({node}, force, &step);
    control.steps().FinishLazily(std::move(step));
    return status;
  };
  cluster.Advance(30);
  EXPECT_EQ(forget(number, true).code(), StatusCode::kBusy) << "alive";
  EXPECT_EQ(forget(99_n, true).code(), StatusCode::kNotFound);
  cluster.Cut(1);
  cluster.Advance(3600);
  EXPECT_EQ(forget(number, false).code(), StatusCode::kInvalid);
  EXPECT_NE(control.nodes().Find(number), nullptr) << "nor is it forgotten in time";
  EXPECT_TRUE(forget(number, true).ok());
  EXPECT_EQ(control.nodes().Find(number), nullptr);
  EXPECT_FALSE(control.files().blocks().Knows(number));
}

TEST(MembershipTest, ANodeThatWasDecommissionedIsForgottenThoughFilesWantMoreReplicasThanThereAreNodes) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  auto& control = cluster.control();
  dfs::BlockManager& blocks = control.files().blocks();
  const NodeId leaves = control.nodes().FindByStorage("storage2")->number;
  blocks.Want({77, 100}, 3);
  for (const auto& [number, node] : control.nodes().all()) blocks.Written(number, {77, 100});
  cluster.Advance(30);
  const auto forget = [&] {
    master::Step step = control.steps().Begin();
    const Status status = control.workers().ForgetNodes({leaves}, false, &step);
    control.steps().FinishLazily(std::move(step));
    return status;
  };
  master::Step step = control.steps().Begin();
  ASSERT_TRUE(control.nodes().SetDraining(leaves, true, "", &step.batch).ok());
  blocks.SetDraining(leaves, true);
  control.steps().FinishLazily(std::move(step));
  EXPECT_TRUE(blocks.Drained(leaves)) << "both others have it";
  EXPECT_EQ(blocks.Health().under_replicated, 0u);
  EXPECT_EQ(blocks.Health().short_of_nodes, 1u);
  cluster.Cut(2);
  cluster.Advance(60);

  blocks.Want({78, 100}, 2);
  blocks.Written(control.nodes().FindByStorage("storage0")->number, {78, 100});
  const Status early = forget();
  EXPECT_EQ(early.code(), StatusCode::kInvalid);
  EXPECT_THAT(early.message(), HasSubstr("1 block has fewer replicas than the nodes in use can hold"));
  blocks.Unwant(78);
  const Status forgotten = forget();
  EXPECT_TRUE(forgotten.ok()) << forgotten.message();
}

TEST(MembershipTest, TheSummaryAndTheLogNameTheNodesWhoseDiskIsFull) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  const auto* node = cluster.control().nodes().FindByStorage("storage1");
  cluster.control().workers().NoteSpace(node->number, {.capacity = 1000, .free = 0});
  const master::ClusterSummary summary = master::Summarize(cluster.control().summary());
  const std::string name = "node " + std::to_string(node->number.value) + " at host1:";
  EXPECT_THAT(summary.full, ::testing::ElementsAre(HasSubstr(name)));
  EXPECT_THAT(master::WarningsOf(summary),
              ::testing::ElementsAre(Field(&Notice::line, HasSubstr("1 node is full: " + name))));
}

TEST(MembershipTest, AMasterWithAnotherDatabaseTouchesNoBlock) {
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
  for (const auto& [number, node] : cluster.control().nodes().all()) EXPECT_TRUE(node.alive) << ToText(number);
}

// An image of the master's disk is made, and the master runs on it when more has been stored since.
TEST(SetBackTest, WorkersFindADatabaseThatIsOlderThanWhatTheyWereTold) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  cluster.Advance(10);
  for (int times = 0; times < 3; ++times) {
    cluster.RestartMaster();
    cluster.Advance(20);
    EXPECT_FALSE(cluster.control().age().Doubted()) << "a restart sets nothing back";
  }
  auto other = MakeMemoryStore();
  ASSERT_TRUE(master::StoreClusterId(FormatClusterId(9, 9), other.get()).ok());
  auto own = cluster.RestartMasterWith(std::move(other));
  auto image = MakeMemoryStore();
  WriteBatch all;
  ASSERT_TRUE(own->Scan({}, {},
                        [&](std::string_view key, std::string_view value) {
                          all.Put(std::string(key), std::string(value));
                          return true;
                        })
                  .ok());
  ASSERT_TRUE(image->Write(all, Durability::kSynced).ok());
  (void)cluster.RestartMasterWith(std::move(own));
  cluster.Advance(20);
  const dfs::BlockId late = cluster.StoreFile("/late");
  EXPECT_FALSE(cluster.control().age().Doubted());

  own = cluster.RestartMasterWith(std::move(image));
  cluster.Advance(60);
  EXPECT_TRUE(cluster.control().age().Doubted());
  EXPECT_THAT(master::WarningsOf(master::Summarize(cluster.control().summary())),
              Contains(Field(&Notice::line, HasSubstr("may be older than what clients were told"))));
  EXPECT_TRUE(cluster.blocks(0).Has(late));
  (void)cluster.RestartMasterWith(std::move(own));
  cluster.Advance(30);
  EXPECT_EQ(cluster.control().files().blocks().Health().missing, 0u);
  EXPECT_TRUE(cluster.control().age().Doubted()) << "this one lacks what was done on the image";
}

// As `master restore` and `master repair` leave it: what a file loses then is not deleted.
TEST(SetBackTest, ADatabaseThatWasRestoredIsInDoubtFromItsFirstStart) {
  SimulatedCluster cluster({.workers = 2, .racks = 1});
  const dfs::BlockId block = cluster.StoreFile("/file");
  cluster.Advance(10);
  ASSERT_FALSE(cluster.control().age().Doubted());
  auto other = MakeMemoryStore();
  ASSERT_TRUE(master::StoreClusterId(FormatClusterId(9, 9), other.get()).ok());
  auto own = cluster.RestartMasterWith(std::move(other));
  WriteBatch note;
  master::Doubt::Announce(master::DoubtCause::kRestored, &note);
  ASSERT_TRUE(own->Write(note, Durability::kSynced).ok());
  (void)cluster.RestartMasterWith(std::move(own));
  EXPECT_TRUE(cluster.control().age().Doubted());
  cluster.Advance(20);
  master::Step step = cluster.control().steps().Begin();
  ASSERT_TRUE(cluster.control().files().Remove("/file", false, &step.batch).ok());
  cluster.control().steps().FinishLazily(std::move(step));
  cluster.Advance(20);
  EXPECT_TRUE(cluster.blocks(0).Has(block) || cluster.blocks(0).ListTrash().size() == 1);
}

TEST(StartTest, WhoIsAwaitedIsSaidAndASubmissionWaitsForIt) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  cluster.StoreFile("/in");
  EXPECT_EQ(cluster.control().workers().AwaitedLine(), "");
  cluster.Cut(0);
  cluster.RestartMaster();
  cluster.Advance(4);
  EXPECT_THAT(cluster.control().workers().AwaitedLine(),
              HasSubstr("the master has started 4 s ago and waits for the reports of 1 of 3 workers (host0:"));
  EXPECT_THAT(cluster.control().workers().AwaitedLine(), HasSubstr("for 11 s more at most (master.startup_grace)"));
  const auto& nodes = cluster.control().nodes();
  EXPECT_TRUE(cluster.control().workers().Awaits(*nodes.FindByStorage("storage0")));
  EXPECT_FALSE(cluster.control().workers().Awaits(*nodes.FindByStorage("storage1")));
  cluster.Mend(0);
  cluster.Submit("/in", "/out", 0);
  EXPECT_EQ(cluster.control().files().blocks().Health().missing, 0u) << "it was there before the job";
  EXPECT_TRUE(cluster.RunUntilIdle(600));
  EXPECT_THAT(cluster.Outputs(), Each(Pair("/out", JobState::kSucceeded)));
}

TEST(StartTest, ASubmissionIsPutOffAndNotLeftWithoutAnAnswer) {
  SimulatedOptions options;
  options.workers = 3;
  SimulatedCluster cluster(options);
  cluster.StoreFile("/in");
  cluster.Cut(0);
  cluster.RestartMaster();
  const double before = cluster.seconds();
  cluster.Submit("/in", "/out", 0);
  EXPECT_GE(cluster.seconds() - before, 14) << "the block was awaited";
  EXPECT_LE(cluster.seconds() - before, 16);
  EXPECT_GE(cluster.put_off(), 6) << "and that was said every two seconds";
  EXPECT_EQ(cluster.control().workers().AwaitedLine(), "") << "it is missing now";
}
TEST(MembershipTest, AnErrorOfTheMasterDoesNotStopItsClock) {
  SimulatedCluster cluster({.workers = 2});
  cluster.Advance(30);
  cluster.WriteSettings(SimulatedCluster::kThrows);
  cluster.Advance(30);
  cluster.Cut(1);
  cluster.Advance(60);
  EXPECT_EQ(cluster.JournalLines("NodeLost"), 1u);
}

// ---- who is looked at ----

TEST(LookingTest, ManyInDoubtAreLookedAtInTurnsAndEverybodyOtherwise) {
  SimulatedCluster cluster({.workers = 30});
  master::NodeWatch& watch = cluster.control().watch();
  std::vector<NodeId> nodes;
  for (const auto& [number, node] : cluster.control().nodes().all()) nodes.push_back(number);
  const NodeId asker = nodes[4];
  const auto looked_at = [&](std::size_t times) {
    std::set<NodeId> seen;
    for (std::size_t i = 0; i < times; ++i) {
      const std::vector<NodeId> look = watch.ToLookAt(asker);
      EXPECT_LE(look.size(), master::NodeWatch::kMostLooks);
      seen.insert(look.begin(), look.end());
    }
    return seen;
  };
  const std::set<NodeId> others = [&] {
    std::set<NodeId> all(nodes.begin(), nodes.end());
    all.erase(asker);
    return all;
  }();
  EXPECT_EQ(looked_at(29), others) << "one after the other";
  watch.Doubt(nodes[7]);
  EXPECT_EQ(looked_at(29), others) << "and one that is in doubt each time";
  for (std::size_t i = 0; i < 20; ++i) watch.Doubt(nodes[i]);
  const std::set<NodeId> seen = looked_at(3);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(nodes[i] == asker || seen.contains(nodes[i])) << i;
}

// A writer can say of nobody else that it does not get through to it.
TEST(LookingTest, AWriterCastsDoubtAloneOnTheNodesOfTheBlockThatItGivesUp) {
  SimulatedCluster cluster({.workers = 20});
  cluster.Advance(30);
  auto names = master::MakeNameService(master::NamePartsOf(cluster.control()), cluster.control().callers().Make());
  auto create = names.createRequest();
  create.setPath(master::ToData("/file"));
  create.setReplication(2);
  auto lease = create.send().getLease();
  const auto add_block = [&](const std::vector<NodeId>& excluded) {
    auto request = lease.addBlockRequest();
    auto out = request.initExcluded(static_cast<unsigned>(excluded.size()));
    for (unsigned i = 0; i < out.size(); ++i) out.set(i, excluded[i].value);
    std::vector<NodeId> given;
    const auto added = request.send()
                           .then([&](auto&& answer) {
                             for (const auto target : answer.getTargets()) given.push_back(NodeId{target.getNode()});
                           })
                           .eagerlyEvaluate(nullptr);
    cluster.Advance(0.1);
    return given;
  };
  std::vector<NodeId> nodes;
  for (const auto& [number, node] : cluster.control().nodes().all()) nodes.push_back(number);
  master::NodeWatch& watch = cluster.control().watch();
  EXPECT_THAT(add_block({nodes.begin(), nodes.begin() + 10}), SizeIs(2));
  EXPECT_THAT(watch.ToLookAt(nodes[0]), SizeIs(1)) << "of its own accord";
  const std::vector<NodeId> given = add_block({});
  ASSERT_THAT(given, SizeIs(2));
  EXPECT_THAT(add_block(given), SizeIs(2));
  for (const NodeId node : nodes) {
    if (node == given[0] || node == given[1]) continue;
    EXPECT_THAT(watch.ToLookAt(node), IsSupersetOf(given)) << ToText(node);
  }
}

}  // namespace
}  // namespace millrace
