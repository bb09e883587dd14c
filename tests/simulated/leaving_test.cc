// SPDX-License-Identifier: Apache-2.0
// Workers whose machines will be taken away, and workers that are decommissioned, in a whole cluster under driven time.
#include <gmock/gmock.h>

#include <limits>
#include <optional>
#include <string>

#include "base/random.h"
#include "dfs/data/block_store.h"
#include "master/control/cluster_summary.h"
#include "tests/histories.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

SimulatedOptions WithoutSpeculation(std::uint32_t workers) {
  SimulatedOptions options;
  options.workers = workers;
  options.racks = 1;
  options.settings = "[speculation]\nenabled = false\n";
  return options;
}

const master::NodeRecord& NodeOf(SimulatedCluster& cluster, std::uint32_t worker) {
  return *cluster.control().nodes().FindByStorage("storage" + std::to_string(worker));
}

void Decommission(SimulatedCluster& cluster, std::uint32_t worker) {
  const master::NodeRecord& node = NodeOf(cluster, worker);
  master::Step step = cluster.control().steps().Begin();
  ASSERT_TRUE(cluster.control().nodes().SetDraining(node.number, true, "", &step.batch).ok());
  master::FollowDraining(node, cluster.control().files().blocks(), cluster.control().jobs(), &step);
  cluster.control().steps().FinishLazily(std::move(step));
}

void Die(SimulatedCluster& cluster, std::uint32_t worker) {
  cluster.SetPort(worker, SimulatedCluster::Port::kDeserted);
  cluster.Cut(worker);
}

TEST(LeavingTest, ItIsSaidAndTheNodeIsUsedAgainIfItStaysAfterAll) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  cluster.Advance(30);
  cluster.Foretell(0, 95);
  cluster.Advance(0.5);
  EXPECT_TRUE(NodeOf(cluster, 0).Drains());
  master::ClusterSummary summary = master::Summarize(cluster.control().summary());
  EXPECT_THAT(master::WarningsOf(summary),
              Contains(Field(&Notice::line, HasSubstr("(host0) is leaving in 94 s (spot notice)"))));
  EXPECT_EQ(summary.draining, 1u);
  EXPECT_THAT(master::FaultsOf(summary), SizeIs(0));
  cluster.Foretell(0, std::nullopt);
  cluster.Advance(0.5);
  EXPECT_FALSE(NodeOf(cluster, 0).Drains());
  summary = master::Summarize(cluster.control().summary());
  EXPECT_EQ(summary.draining, 0u);
  cluster.AddFile("/in", 12);
  cluster.Submit("/in", "/out", 0);
  cluster.Advance(2);
  EXPECT_GT(cluster.control().jobs().RunningOn(NodeOf(cluster, 0).number).first, 0u);
}

TEST(LeavingTest, ItIsToldAgainToAMasterThatStartsAnewAndNothingIsLaunchedThere) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  cluster.AddFile("/in", 40);
  cluster.Submit("/in", "/out", 1);
  cluster.Advance(2);
  cluster.Foretell(0, 1000);
  cluster.Advance(100);
  const auto running = [&] { return cluster.control().jobs().RunningOn(NodeOf(cluster, 0).number).first; };
  EXPECT_EQ(running(), 0u);
  cluster.RestartMaster();
  cluster.Advance(10);
  ASSERT_TRUE(NodeOf(cluster, 0).leaving);
  EXPECT_NEAR(static_cast<double>(NodeOf(cluster, 0).leaving->at - cluster.control().clock().Awake()) / kSecond, 890,
              2);
  EXPECT_EQ(running(), 0u);
  EXPECT_TRUE(cluster.RunUntilIdle(600));
}

// The worker that was drained dies: what it had is elsewhere, and nothing is done twice.
TEST(LeavingTest, NoMapRunsAgainAndNothingIsMissingWhenADrainedNodeDies) {
  for (const bool foretold : {true, false}) {
    SCOPED_TRACE(foretold ? "foretold" : "decommissioned");
    SimulatedCluster cluster(WithoutSpeculation(4));
    cluster.AddFile("/in", 40);
    cluster.Submit("/in", "/out", 12);  // in several waves, so that all outputs are needed until late
    cluster.Advance(40);
    const NodeId node = NodeOf(cluster, 0).number;
    ASSERT_GT(cluster.control().jobs().OutputsLeftOn(node), 0u);
    foretold ? cluster.Foretell(0, 120) : Decommission(cluster, 0);
    for (int second = 0; second < 100; ++second) {
      const auto [maps, reduces] = cluster.control().jobs().RunningOn(node);
      if (second > 0 && maps + reduces + cluster.control().jobs().OutputsLeftOn(node) == 0) break;
      cluster.Advance(1);
    }
    EXPECT_EQ(cluster.control().jobs().OutputsLeftOn(node), 0u);
    EXPECT_GT(cluster.JournalLines("OutputMoved"), 0u);
    const std::size_t lost = cluster.JournalLines("AttemptLost");
    Die(cluster, 0);
    EXPECT_TRUE(cluster.RunUntilIdle(900));
    EXPECT_EQ(cluster.Outputs()["/out"], JobState::kSucceeded);
    EXPECT_EQ(cluster.JournalLines("AttemptSucceeded"), 40u + 12u) << "a task that had succeeded ran again";
    EXPECT_EQ(cluster.JournalLines("AttemptLost"), lost);
    EXPECT_EQ(cluster.JournalLines("AttemptFailed"), 0u);
  }
}

TEST(LeavingTest, AMasterThatDiesWhileOutputsMoveCountsOnThoseThatAreServed) {
  for (const double after : {0.05, 0.3, 0.6, 2.0}) {
    SCOPED_TRACE(after);
    SimulatedCluster cluster(WithoutSpeculation(4));
    cluster.AddFile("/in", 40);
    cluster.Submit("/in", "/out", 8);
    cluster.Advance(40);
    cluster.Foretell(0, 300);
    cluster.Advance(after);
    cluster.RestartMaster();
    cluster.Advance(40);
    const NodeId node = NodeOf(cluster, 0).number;
    EXPECT_EQ(cluster.control().jobs().OutputsLeftOn(node), 0u);
    Die(cluster, 0);
    EXPECT_TRUE(cluster.RunUntilIdle(900));
    EXPECT_EQ(cluster.Outputs()["/out"], JobState::kSucceeded);
    EXPECT_EQ(cluster.JournalLines("AttemptSucceeded"), 40u + 8u);
  }
}

TEST(LeavingTest, WhatOnlyItHasIsCopiedAndWhenItHasLeftItIsForgotten) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  const dfs::BlockId block = cluster.StoreFile("/only");
  const NodeId node = NodeOf(cluster, 0).number;
  cluster.Foretell(0, 60);
  cluster.Advance(2);
  EXPECT_EQ(cluster.control().files().blocks().LeftToDrain(node), 1u);
  EXPECT_GT(cluster.control().files().blocks().Health().pending, 0u) << "the copy is under way";
  // The planes of this cluster carry no blocks, so that the copy is said to have arrived.
  const auto found = cluster.control().files().blocks().Find(block);
  cluster.control().files().blocks().Written(NodeOf(cluster, 1).number, *found);
  EXPECT_EQ(cluster.control().files().blocks().LeftToDrain(node), 0u);
  cluster.Advance(50);
  Die(cluster, 0);
  cluster.Advance(5);
  ASSERT_NE(cluster.control().nodes().Find(node), nullptr) << "its time is not over";
  EXPECT_FALSE(cluster.control().nodes().Find(node)->alive);
  cluster.Advance(10);
  EXPECT_EQ(cluster.control().nodes().Find(node), nullptr);
  EXPECT_EQ(cluster.control().files().blocks().Health().missing, 0u);
}

master::Clearance ClearanceOf(SimulatedCluster& cluster, std::uint32_t worker) {
  return master::ClearanceOf(cluster.control().workers().StandOf(NodeOf(cluster, worker)));
}

// Nothing runs there any more, but a reduce elsewhere may need what its maps left.
TEST(LeavingTest, ANodeMayNotGoWhileItAloneHasOutputsOfUse) {
  using master::Clearance;
  SimulatedCluster cluster(WithoutSpeculation(4));
  cluster.AddFile("/in", 8);
  cluster.Submit("/in", "/out", 1);
  const auto left_on = [&](std::uint32_t worker) {
    return cluster.control().jobs().OutputsLeftOn(NodeOf(cluster, worker).number);
  };
  const auto idles_with_outputs = [&](std::uint32_t worker) {
    const auto [maps, reduces] = cluster.control().jobs().RunningOn(NodeOf(cluster, worker).number);
    return maps + reduces == 0 && left_on(worker) > 0;
  };
  std::uint32_t worker = 0;
  for (int tenths = 0; tenths < 2000 && !idles_with_outputs(worker); ++tenths) {
    worker = (worker + 1) % 4;
    if (worker == 0) cluster.Advance(0.4);
  }
  ASSERT_TRUE(idles_with_outputs(worker));
  master::Step step = cluster.control().steps().Begin();  // blocks would keep it, too
  ASSERT_TRUE(cluster.control().files().Remove("/in", false, &step.batch).ok());
  cluster.control().steps().FinishLazily(std::move(step));
  Decommission(cluster, worker);
  EXPECT_EQ(ClearanceOf(cluster, worker), Clearance::kOutputs);
  for (int tenths = 0; tenths < 1000 && left_on(worker) > 0; ++tenths) {
    EXPECT_EQ(ClearanceOf(cluster, worker), Clearance::kOutputs) << tenths;
    cluster.Advance(0.1);
  }
  EXPECT_EQ(ClearanceOf(cluster, worker), Clearance::kYes);
  Die(cluster, worker);
  EXPECT_TRUE(cluster.RunUntilIdle(900));
  EXPECT_EQ(cluster.JournalLines("AttemptSucceeded"), 8u + 1u) << "a map ran again";
}

// What the database does not know may be all that is left of a file, if it is older than what clients were told.
TEST(LeavingTest, ANodeWhoseTrashMayBeNeededMayNotGo) {
  using master::Clearance;
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  const std::string data(100, 'x');
  auto writing = cluster.blocks(0).Create(77);
  ASSERT_TRUE((*writing)->Append(data, dfs::ChunkCrcs(data)).ok());
  ASSERT_TRUE((*writing)->Finish().ok());
  cluster.RestartMaster();
  cluster.Advance(30);
  for (const std::uint32_t worker : {0, 1}) Decommission(cluster, worker);
  cluster.Advance(10);
  ASSERT_EQ(ClearanceOf(cluster, 0), Clearance::kHeld);
  ASSERT_EQ(ClearanceOf(cluster, 1), Clearance::kYes);
  master::Step step = cluster.control().steps().Begin();
  cluster.control().age().NoteSetBack(&step);
  cluster.control().steps().FinishLazily(std::move(step));
  ASSERT_TRUE(cluster.control().files().blocks().DiscardUnknown(NodeOf(cluster, 0).number).ok());
  for (int tenth = 0; tenth < 100; ++tenth) {
    ASSERT_EQ(ClearanceOf(cluster, 0), Clearance::kDoubt) << tenth;
    cluster.Advance(0.1);
  }
  EXPECT_FALSE(cluster.blocks(0).Has(77)) << "it is in the trash";
  EXPECT_EQ(ClearanceOf(cluster, 1), Clearance::kYes) << "its trash is empty";
  cluster.RestartMaster();
  for (int tenth = 0; tenth < 300; ++tenth) {
    cluster.Advance(0.1);
    ASSERT_NE(ClearanceOf(cluster, 0), Clearance::kYes) << tenth;
  }
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kDoubt);
  (void)cluster.blocks(0).SweepTrash(std::numeric_limits<Micros>::max(), 0);
  cluster.Advance(10);
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kYes) << "nothing is left of it";
}

TEST(LeavingTest, ANodeMayGoOnlyWhenAMasterHasHeardOfWhatItHas) {
  using master::Clearance;
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  const dfs::BlockId block = cluster.StoreFile("/only");
  cluster.Advance(30);
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kInUse);
  Decommission(cluster, 0);
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kBlocks);
  for (int times = 0; times < 3; ++times) {
    cluster.RestartMaster();
    EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kUnknown) << "nobody is here";
    for (int tenth = 0; tenth < 50; ++tenth) {
      cluster.Advance(0.1);
      EXPECT_NE(ClearanceOf(cluster, 0), Clearance::kYes);
    }
    EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kBlocks);
  }
  // The worker that is to go is here, and another one that may have replicas is not.
  cluster.Cut(2);
  cluster.RestartMaster();
  cluster.Advance(5);
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kUnknown);
  cluster.Advance(15);
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kBlocks) << "the grace is over";
  const auto found = cluster.control().files().blocks().Find(block);
  cluster.control().files().blocks().Received(NodeOf(cluster, 1).number, *found);
  EXPECT_EQ(ClearanceOf(cluster, 0), Clearance::kYes);
}

TEST(LeavingTest, ALostNodeIsNotDoneAndWhatItHadIsCounted) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  (void)cluster.StoreFile("/only");
  cluster.Advance(30);
  Decommission(cluster, 0);
  Die(cluster, 0);
  cluster.Advance(20);
  EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kLost);
  const NodeId node = NodeOf(cluster, 0).number;
  EXPECT_EQ(cluster.control().workers().LossOf(node).blocks, 1u);
  EXPECT_TRUE(cluster.control().workers().LossOf(node).known);
  cluster.RestartMaster();
  cluster.Advance(30);
  EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kLost);
  EXPECT_EQ(cluster.control().workers().LossOf(node).blocks, 1u) << "it may be there";
  EXPECT_FALSE(cluster.control().workers().LossOf(node).known);
}

TEST(LeavingTest, WhileNothingCanBeStoredNobodyIsToldThatANodeMayGo) {
  SimulatedCluster cluster({.workers = 3, .racks = 1});
  cluster.Advance(30);
  Decommission(cluster, 0);
  EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kYes);
  cluster.SetFree(0);
  cluster.Advance(2);
  EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kUnknown);
  cluster.SetFree(std::uint64_t{1} << 40);
  cluster.Advance(5);
  EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kYes);
}

// ---- nodes that ail and are decommissioned ----

bool TakesTasks(SimulatedCluster& cluster, std::uint32_t worker) {
  const auto* node = cluster.control().jobs().cluster().FindNode(NodeOf(cluster, worker).number);
  return node != nullptr && node->InUse();
}

constexpr Micros kSlow = 3 * kSecond, kFast = 10 * kMillisecond;
constexpr double kUntilNoticed = 15;  // the judge's ten seconds, and heartbeats

TEST(LeavingTest, ANodeThatAilsAndIsDecommissionedTakesTasksOnceNeitherHolds) {
  for (const bool restart : {false, true}) {
    for (const bool well_first : {false, true}) {
      for (const bool ails_first : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << "restart " << restart << ", well first " << well_first << ", ails first " << ails_first);
        SimulatedCluster cluster({.workers = 4, .racks = 1});
        const auto go_on = [&] {
          cluster.Advance(kUntilNoticed);
          if (!restart) return;
          cluster.RestartMaster();
          cluster.Advance(kUntilNoticed);
        };
        const auto ail = [&] { cluster.SetSyncs(0, kSlow); };
        const auto drain = [&] { cluster.Drain(0, true); };
        go_on();
        EXPECT_TRUE(TakesTasks(cluster, 0));
        ails_first ? ail() : drain();
        go_on();
        EXPECT_FALSE(TakesTasks(cluster, 0));
        EXPECT_EQ(ClearanceOf(cluster, 0), ails_first ? master::Clearance::kInUse : master::Clearance::kYes)
            << "nobody wants a node to go because it ails";
        ails_first ? drain() : ail();
        go_on();
        EXPECT_FALSE(TakesTasks(cluster, 0));
        EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kYes);
        well_first ? cluster.SetSyncs(0, kFast) : cluster.Drain(0, false);
        go_on();
        EXPECT_FALSE(TakesTasks(cluster, 0)) << (well_first ? "it is decommissioned" : "its disk is slow");
        EXPECT_EQ(ClearanceOf(cluster, 0), well_first ? master::Clearance::kYes : master::Clearance::kInUse);
        well_first ? cluster.Drain(0, false) : cluster.SetSyncs(0, kFast);
        go_on();
        EXPECT_TRUE(TakesTasks(cluster, 0));
        EXPECT_EQ(ClearanceOf(cluster, 0), master::Clearance::kInUse);
        for (std::uint32_t other : {1u, 2u, 3u}) EXPECT_TRUE(TakesTasks(cluster, other)) << other;
      }
    }
  }
}

// Whatever happens in whatever order: a node takes tasks unless somebody wants it to go, it foretells that it leaves,
// or its disk is slow; and it is wanted to go by those alone who said so.
TEST(LeavingTest, WhoeverKeepsTasksFromANodeTakesBackHisOwnAlone) {
  PlayHistories(40, [](std::uint64_t seed) {
    Random random(seed);
    SimulatedCluster cluster({.seed = seed, .workers = 4, .racks = 1});
    bool drained = false, leaves = false, slow = false;
    std::string story;
    for (int step = 0; step < 12; ++step) {
      switch (random.Below(6)) {
        case 0:
          cluster.Drain(0, drained = !drained);
          story += drained ? " decommissioned" : " recommissioned";
          break;
        case 1:
          leaves = !leaves;
          cluster.Foretell(0, leaves ? std::optional(10'000.0) : std::nullopt);
          story += leaves ? " leaves" : " stays";
          break;
        case 2:
          cluster.RestartMaster();
          story += " restart";
          break;
        case 3:
          cluster.Cut(0);
          cluster.Advance(static_cast<double>(random.Below(20)));
          cluster.Mend(0);
          story += " cut";
          break;
        default:
          slow = !slow;
          cluster.SetSyncs(0, slow ? kSlow : kFast);
          story += slow ? " slow" : " well";
      }
      if (random.Below(3) == 0) continue;  // and the next at once
      cluster.Advance(2 * kUntilNoticed);
      SCOPED_TRACE(story);
      ASSERT_EQ(TakesTasks(cluster, 0), !drained && !leaves && !slow);
      ASSERT_EQ(ClearanceOf(cluster, 0) == master::Clearance::kInUse, !drained && !leaves);
      ASSERT_EQ(NodeOf(cluster, 0).ailing.has_value(), slow && !drained && !leaves);
    }
  });
}

TEST(LeavingTest, AttemptsThatCannotEndInTimeRunElsewhereBeforeTheNodeIsGone) {
  SimulatedOptions options = WithoutSpeculation(2);
  options.times = {.map_least = 400 * kj::SECONDS, .map_most = 400 * kj::SECONDS};
  SimulatedCluster cluster(options);
  cluster.AddFile("/in", 2);
  cluster.Submit("/in", "/out", 0);
  cluster.Advance(200);
  for (std::uint32_t worker : {0u, 1u}) {
    if (cluster.control().jobs().RunningOn(NodeOf(cluster, worker).number).first == 0) continue;
    cluster.Foretell(worker, 120);
    break;
  }
  cluster.Advance(2);
  EXPECT_GT(cluster.JournalLines("AttemptLost"), 0u) << "long before the node leaves";
  EXPECT_TRUE(cluster.RunUntilIdle(900));
  EXPECT_EQ(cluster.Outputs()["/out"], JobState::kSucceeded);
  EXPECT_EQ(cluster.JournalLines("AttemptFailed"), 0u);
}

}  // namespace
}  // namespace millrace
