// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/node_table.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/bytes.h"
#include "tests/fakes/memory_store.h"
#include "tests/hex.h"
#include "tests/node_ids.h"

namespace millrace::master {
namespace {

TEST(NodeTableTest, AStorageKeepsItsNumberAcrossRestarts) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  NodeTable table;
  WriteBatch batch;
  EXPECT_EQ(table.Admit({"s1", "h1", 1, "", "r", "d", 1, 1, 1}, &batch).number, 1_n);
  EXPECT_EQ(table.Admit({"s2", "h2", 2, "", "r", "d", 1, 1, 1}, &batch).number, 2_n);
  ASSERT_TRUE(table.SetDraining(2_n, true, "", &batch).ok());
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());

  NodeTable again;
  ASSERT_TRUE(again.Load(*store).ok());
  EXPECT_FALSE(again.Find(1_n)->alive);
  EXPECT_TRUE(again.Find(2_n)->draining);
  WriteBatch more;
  EXPECT_EQ(again.Admit({"s2", "h2", 2, "", "r", "d", 1, 1, 1}, &more).number, 2_n);
  EXPECT_TRUE(more.empty()) << "nothing has changed";
  EXPECT_EQ(again.Admit({"s2", "moved", 9, "", "r", "d", 4, 4, 7}, &more).number, 2_n);
  EXPECT_FALSE(more.empty());
  EXPECT_EQ(again.Find(2_n)->facts.host, "moved");
  EXPECT_TRUE(again.Find(2_n)->draining);
  EXPECT_EQ(again.Admit({"s3", "h3", 3, "", "r", "d", 1, 1, 1}, &more).number, 3_n);
}

TEST(NodeTableTest, AForgottenNodeIsGoneAndItsNumberIsNotGivenAgain) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  NodeTable table;
  WriteBatch batch;
  table.Admit({"s1", "h1", 1, "", "r", "d", 1, 1, 1}, &batch);
  table.Admit({"s2", "h2", 2, "", "r", "d", 1, 1, 1}, &batch).alive = true;
  EXPECT_EQ(table.Forget(2_n, &batch).code(), StatusCode::kBusy);
  table.Find(2_n)->alive = false;
  ASSERT_TRUE(table.NoteLost(1_n, 77, &batch).ok());
  ASSERT_TRUE(table.Forget(2_n, &batch).ok());
  EXPECT_EQ(table.Forget(2_n, &batch).code(), StatusCode::kNotFound);
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());

  NodeTable again;
  ASSERT_TRUE(again.Load(*store).ok());
  EXPECT_EQ(again.Find(2_n), nullptr);
  EXPECT_EQ(again.FindByStorage("s2"), nullptr);
  EXPECT_EQ(again.Find(1_n)->lost_at, 77);
  WriteBatch more;
  EXPECT_EQ(again.Admit({"s1", "h1", 1, "", "r", "d", 1, 1, 1}, &more).lost_at, 0) << "it is back";
  EXPECT_EQ(again.Admit({"s2", "h2", 2, "", "r", "d", 1, 1, 1}, &more).number, 3_n);
}

WorkerFacts Showing(const std::string& certificate, const std::string& storage) {
  WorkerFacts facts{storage, "host-of-" + storage, 1, "", "r", "d", 1, 1, 1};
  facts.certificate = certificate;
  return facts;
}

TEST(NodeTableTest, ACertificateBelongsToTheStorageThatItFirstCameWith) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  NodeTable first;
  WriteBatch batch;
  ASSERT_TRUE(first.CheckCertificate(Showing("worker:w1", "s1")).ok());
  first.Admit(Showing("worker:w1", "s1"), &batch);
  first.Admit(Showing("worker:w2", "s2"), &batch);
  first.Admit(Showing("", "s3"), &batch);  // from before there was TLS
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());

  NodeTable table;
  ASSERT_TRUE(table.Load(*store).ok());
  EXPECT_TRUE(table.CheckCertificate(Showing("worker:w1", "s1")).ok());
  EXPECT_TRUE(table.CheckCertificate(Showing("", "s4")).ok()) << "there is no TLS";
  EXPECT_TRUE(table.CheckCertificate(Showing("worker:w3", "s3")).ok());
  const Status other_storage = table.CheckCertificate(Showing("worker:w1", "s2"));
  EXPECT_EQ(other_storage.code(), StatusCode::kDenied);
  EXPECT_THAT(other_storage.message(),
              testing::HasSubstr("its storage is that of node 2 (host-of-s2:1), which registered as worker:w2"));
  const Status twice = table.CheckCertificate(Showing("worker:w1", "s4"));
  EXPECT_EQ(twice.code(), StatusCode::kDenied);
  EXPECT_THAT(twice.message(), testing::HasSubstr("belongs to the storage of node 1 (host-of-s1:1)"));
  EXPECT_THAT(twice.message(), testing::HasSubstr("`millrace node forget 1` frees it"));
  EXPECT_EQ(table.CheckCertificate(Showing("worker:w1", "s3")).code(), StatusCode::kDenied);
  WriteBatch more;
  ASSERT_TRUE(table.Forget(1_n, &more).ok());
  EXPECT_TRUE(table.CheckCertificate(Showing("worker:w1", "s4")).ok());
}

TEST(NodeTableTest, OnlyLiveNodesAreFoundByHost) {
  NodeTable table;
  WriteBatch batch;
  table.Admit({"s1", "host", 1, "", "", "", 1, 1, 1}, &batch);
  EXPECT_EQ(table.FindByHost("host"), nullptr);
  table.Find(1_n)->alive = true;
  EXPECT_EQ(table.FindByHost("host")->number, 1_n);
  EXPECT_EQ(table.SetDraining(9_n, true, "", &batch).code(), StatusCode::kNotFound);
}

TEST(NodeTableTest, TheLastNodesInUseAreNotDrained) {
  NodeTable table;
  WriteBatch batch;
  for (const char* storage : {"s1", "s2", "s3"}) table.Admit({storage, "host", 1, "", "", "", 1, 1, 1}, &batch);
  table.Find(1_n)->alive = table.Find(2_n)->alive = true;  // 3 is lost
  EXPECT_TRUE(table.CheckDraining({1_n}, 1).ok());
  EXPECT_EQ(table.CheckDraining({1_n, 2_n}, 0).code(), StatusCode::kInvalid);
  ASSERT_TRUE(table.SetDraining(1_n, true, "", &batch).ok());
  EXPECT_EQ(table.CheckDraining({2_n}, 0).code(), StatusCode::kInvalid);
  EXPECT_TRUE(table.CheckDraining({3_n}, 1).ok());
  EXPECT_EQ(NoSuchNode(9_n).code(), StatusCode::kNotFound);
}

TEST(NodeTableTest, NoFileLosesReplicasThatItWantsAndHas) {
  NodeTable table;
  WriteBatch batch;
  for (const char* storage : {"s1", "s2", "s3", "s4"})
    table.Admit({storage, "host", 1, "", "", "", 1, 1, 1}, &batch).alive = true;
  EXPECT_TRUE(table.CheckDraining({1_n}, 3).ok());
  const Status refused = table.CheckDraining({1_n, 2_n}, 3);
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), testing::HasSubstr("would be left: 2 for files with 3 replicas"));
  EXPECT_TRUE(table.CheckDraining({1_n, 2_n}, 2).ok());
  EXPECT_EQ(table.CheckDraining({1_n}, 9).code(), StatusCode::kInvalid) << "nine are not there, but four are";
  ASSERT_TRUE(table.SetDraining(1_n, true, "", &batch).ok());
  EXPECT_TRUE(table.CheckDraining({1_n}, 3).ok()) << "it has begun already";
}

// For few nodes as for many: one stays at least, and as many as any file has replicas, or as there are.
TEST(NodeTableTest, TheGuardOfReplicasHoldsAtAnySize) {
  for (const std::uint32_t count : {1u, 2u, 3u, 4u, 9u, 10u, 11u, 100u}) {
    NodeTable table;
    WriteBatch batch;
    std::vector<NodeId> all;
    for (std::uint32_t n = 0; n < count; ++n) {
      NodeRecord& node = table.Admit({"s" + std::to_string(n), "host", 1, "", "", "", 1, 1, 1}, &batch);
      node.alive = n % 2 == 0;
      all.push_back(node.number);
    }
    const auto comes = [](const NodeRecord&) { return true; };
    for (const std::uint32_t replicas : {0u, 1u, 2u, 3u, 10u, 64u}) {
      for (std::uint32_t leave = 1; leave <= count; ++leave) {
        const std::vector<NodeId> leaving(all.begin(), all.begin() + leave);
        const std::uint32_t alive = (count + 1) / 2, left = alive - (leave + 1) / 2;
        EXPECT_EQ(table.CheckDraining(leaving, replicas).ok(), left >= 1 && left >= std::min(replicas, alive));
        EXPECT_EQ(table.CheckDraining(leaving, replicas, comes).ok(),
                  count - leave >= 1 && count - leave >= std::min(replicas, count))
            << "a node that a new master awaits has replicas, too";
      }
    }
  }
}

TEST(NodeTableTest, ANodeIsFullFromWhenItHasNoRoomUntilItHasAHundredth) {
  NodeTable table;
  WriteBatch batch;
  table.Admit({"s1", "host", 1, "", "", "", 1, 1, 1}, &batch);
  const auto changes = [&table](std::uint64_t free, std::uint64_t capacity = 1000) {
    return table.NoteSpace(1_n, {.capacity = capacity, .free = free});
  };
  EXPECT_FALSE(changes(0, 0)) << "nothing is known yet";
  EXPECT_FALSE(changes(1));
  EXPECT_TRUE(changes(0));
  EXPECT_TRUE(table.Find(1_n)->full);
  EXPECT_FALSE(changes(10)) << "it is filled again at once";
  EXPECT_TRUE(changes(11));
  EXPECT_FALSE(table.Find(1_n)->full);
  EXPECT_EQ(table.Find(1_n)->space.free, 11u);
  EXPECT_FALSE(table.NoteSpace(9_n, {}));
}

TEST(NodeTableTest, NamesAndReleasesAreStored) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  NodeTable table;
  WriteBatch batch;
  WorkerFacts facts{"s1", "h1", 1, "", "r", "d", 1, 1, 1};
  facts.name = "two";
  facts.release = {"1.2.3", 7};
  table.Admit(facts, &batch);
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  NodeTable again;
  ASSERT_TRUE(again.Load(*store).ok());
  EXPECT_EQ(again.Find(1_n)->facts.name, "two");
  EXPECT_EQ(again.Find(1_n)->facts.release.version, "1.2.3");
  EXPECT_EQ(again.Find(1_n)->facts.release.protocol, 7u);
}

// A record as it was written before nodes had names: version 2, five texts, six numbers.
TEST(NodeTableTest, ARecordOfBeforeNamesIsRead) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  Encoder old;
  old.U8(2);
  for (const char* text : {"s1", "h1", "", "r", "d"}) old.Text(text);
  for (const std::uint64_t number : {7701, 4, 2, 99, 1, 0}) old.Varint(number);
  WriteBatch batch;
  batch.Put("w/" + KeyNumber(5), old.Take());
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  NodeTable table;
  ASSERT_TRUE(table.Load(*store).ok());
  const NodeRecord* node = table.FindByStorage("s1");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->number, 5_n);
  EXPECT_EQ(node->facts.port, 7701);
  EXPECT_EQ(node->facts.map_slots, 4u);
  EXPECT_TRUE(node->draining);
  EXPECT_EQ(node->facts.name, "");
  EXPECT_EQ(node->facts.release.protocol, 0u);
}

TEST(NodeTableTest, AMaintenanceAndReasonsOutliveTheMaster) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  NodeTable table;
  WriteBatch batch;
  for (const char* storage : {"s1", "s2", "s3"}) table.Admit({storage, "h", 1, "", "r", "d", 1, 1, 1}, &batch);
  const std::string plain = batch.changes().back().value.value();
  EXPECT_EQ(plain[0], 4) << "what an older master can read stays so";
  ASSERT_TRUE(table.SetMaintenance(1_n, Maintenance{77, "kernel", 30}, &batch).ok());
  ASSERT_TRUE(table.SetDraining(2_n, true, "sold", &batch).ok());
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  NodeTable again;
  ASSERT_TRUE(again.Load(*store).ok());
  ASSERT_TRUE(again.Find(1_n)->maintenance.has_value());
  EXPECT_EQ(again.Find(1_n)->maintenance->until, 77);
  EXPECT_EQ(again.Find(1_n)->maintenance->reason, "kernel");
  EXPECT_EQ(again.Find(1_n)->maintenance->since, 30);
  EXPECT_EQ(again.Find(2_n)->drain_reason, "sold");
  EXPECT_FALSE(again.Find(3_n)->maintenance.has_value());

  WriteBatch back;
  ASSERT_TRUE(again.SetDraining(2_n, false, "", &back).ok());
  EXPECT_EQ(back.changes().back().value.value()[0], 4) << "without a reason, too";
  ASSERT_TRUE(again.SetDraining(1_n, false, "", &back).ok());
  EXPECT_FALSE(again.Find(1_n)->maintenance.has_value()) << "it is back in use";
  EXPECT_EQ(again.SetMaintenance(9_n, std::nullopt, &back).code(), StatusCode::kNotFound);
}

TEST(NodeTableTest, AMaintenanceIsNoLongerThanAskedForWhenTheClockWasSetBack) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  NodeTable table;
  WriteBatch batch;
  table.Admit({"s1", "h", 1, "", "r", "d", 1, 1, 1}, &batch);
  ASSERT_TRUE(table.SetMaintenance(1_n, Maintenance{3690, "kernel", 3640}, &batch).ok());
  table.ShortenMaintenance(3650, &batch);
  EXPECT_EQ(table.Find(1_n)->maintenance->until, 3690) << "time goes on";
  table.ShortenMaintenance(17, &batch);
  EXPECT_EQ(table.Find(1_n)->maintenance->until, 67);
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  NodeTable again;
  ASSERT_TRUE(again.Load(*store).ok());
  EXPECT_EQ(again.Find(1_n)->maintenance->until, 67);
}

TEST(NodeTableTest, NodesInMaintenanceTakeNeitherTasksNorADecommission) {
  NodeTable table;
  WriteBatch batch;
  for (const char* storage : {"s1", "s2", "s3"}) table.Admit({storage, "h", 1, "", "r", "d", 1, 1, 1}, &batch);
  for (const std::uint32_t node : {1, 2}) table.Find(NodeId{node})->alive = true;
  EXPECT_TRUE(table.CheckMaintenance({1_n}, false).ok());
  EXPECT_EQ(table.CheckMaintenance({1_n, 2_n}, false).code(), StatusCode::kInvalid) << "none would be left";
  EXPECT_TRUE(table.CheckMaintenance({1_n, 2_n}, true).ok());
  EXPECT_EQ(table.CheckMaintenance({3_n}, true).code(), StatusCode::kInvalid) << "it is lost";
  EXPECT_EQ(table.CheckMaintenance({9_n}, true).code(), StatusCode::kNotFound);
  ASSERT_TRUE(table.SetMaintenance(1_n, Maintenance{77, ""}, &batch).ok());
  EXPECT_FALSE(table.Find(1_n)->TakesTasks());
  EXPECT_TRUE(table.Find(1_n)->InMaintenance());
  table.Find(1_n)->alive = false;
  EXPECT_TRUE(table.CheckMaintenance({1_n}, false).ok()) << "its end may be set anew while it is away";
  EXPECT_EQ(table.CheckDraining({1_n}, 0, {}, true).code(), StatusCode::kInvalid);
  EXPECT_EQ(table.CheckDraining({2_n}, 0).code(), StatusCode::kInvalid) << "no other is in use";
  ASSERT_TRUE(table.SetDraining(2_n, true, "", &batch).ok());
  EXPECT_EQ(table.CheckMaintenance({2_n}, true).code(), StatusCode::kInvalid) << "it drains";
  table.Find(1_n)->leaving = Leaving{5, "spot notice"};
  EXPECT_FALSE(table.Find(1_n)->InMaintenance()) << "what it has must be copied";
}

TEST(NodeTableTest, ADamagedRecordIsCorrupt) {
  const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
  WriteBatch batch;
  batch.Put("w/" + KeyNumber(1), "\x01garbage");
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  NodeTable table;
  EXPECT_EQ(table.Load(*store).code(), StatusCode::kCorrupt);
}

TEST(NodeTableTest, ARecordHasTheBytesOfItsFieldsInTheirOrder) {
  NodeTable table;
  WriteBatch batch;
  WorkerFacts facts{"s1", "h1", 7701, "@s", "r", "d", 4, 2, 300};
  facts.name = "two";
  facts.release = {"1.2.3", 7};
  facts.certificate = "c";
  table.Admit(facts, &batch);
  ASSERT_TRUE(table.NoteLost(1_n, 5, &batch).ok());
  ASSERT_TRUE(table.SetDraining(1_n, true, "", &batch).ok());
  const std::string bytes =
      Hex("04  02's1' 02'h1' 02'@s' 01'r' 01'd'"  // version, storage, host, local socket, rack, data centre
          "  953c 04 02 ac02 01 05"          // port, slots of maps and reduces, incarnation, draining, when it was lost
          "  03'two' 05'1.2.3' 07  01'c'");  // name, version, protocol, certificate
  EXPECT_EQ(batch.changes().back().value, bytes);

  const auto load = [](std::string_view hex) {
    const std::unique_ptr<KeyValueStore> store = MakeMemoryStore();
    WriteBatch old;
    old.Put("w/" + KeyNumber(5), Hex(hex));
    EXPECT_TRUE(store->Write(old, Durability::kSynced).ok());
    NodeTable read;
    EXPECT_TRUE(read.Load(*store).ok()) << hex;
    return read;
  };
  const NodeTable third = load("03 02's1' 00 00 00 00  01 01 01 01 00 05  03'two' 00 07");
  EXPECT_EQ(third.Find(5_n)->facts.name, "two");
  EXPECT_EQ(third.Find(5_n)->lost_at, 5);
  EXPECT_EQ(third.Find(5_n)->facts.certificate, "");
}

}  // namespace
}  // namespace millrace::master
