// SPDX-License-Identifier: Apache-2.0
// Tests what the master makes of the signs of its workers.
#include "master/control/node_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/cluster_id.h"
#include "master/control/cluster_record.h"
#include "master/control/control.h"
#include "tests/base/rpc_fixture.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

class StoreLog final : public rpc::CommitLog {
 public:
  explicit StoreLog(KeyValueStore& store) : store_(store) {}
  kj::Promise<void> Commit(WriteBatch batch) override {
    CommitLazily(std::move(batch));
    return kj::READY_NOW;
  }
  void CommitLazily(WriteBatch batch) override { (void)store_.Write(batch, Durability::kBuffered); }

 private:
  KeyValueStore& store_;
};

class NodeWatchTest : public testing::Test {
 protected:
  NodeWatchTest() {
    (void)DeclareMasterOptions(&config_);
    config_.startup_grace = 0;
    MILLRACE_CHECK(StoreClusterId(FormatClusterId(1, 2), store_.get()).ok(), "no cluster");
    auto made = Control::Make(
        config_, ControlDependencies{loop_.timer, clock_, *store_, log_, Random(1),
                                     [numbers = Random(2)]() mutable { return numbers.Next(); }, MakeSilentLog()});
    MILLRACE_CHECK(made.ok(), made.status().message());
    control_ = *std::move(made);
  }
  ~NodeWatchTest() noexcept override { control_.reset(); }

  NodeId AddWorker(const std::string& name, std::uint32_t map_slots) {
    Step step = control_->steps().Begin();
    NodeRecord& node = control_->nodes().Admit({name, name, 1, "socket", "/r", "d", map_slots, 1, 1}, &step.batch);
    node.alive = true;
    control_->files().blocks().NodeUp(node.number, {"/r", "d"});
    control_->jobs().NodeRegistered(node, {}, &step);
    control_->steps().FinishLazily(std::move(step));
    return node.number;
  }
  bool Ails(NodeId node) { return control_->nodes().Find(node)->ailing.has_value(); }

  rpc::DrivenLoop loop_;
  DrivenClock clock_{kSecond};
  MasterConfig config_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  StoreLog log_{*store_};
  std::unique_ptr<Control> control_;
};

// The slow one is the last that runs maps: the other one with slots for them has a full disk.
TEST_F(NodeWatchTest, TheLastNodeThatTakesTasksIsNotJudgedAway) {
  const NodeId slow = AddWorker("slow", 1), full = AddWorker("full", 1), third = AddWorker("third", 0);
  const auto hear = [&](bool no_room) {
    control_->workers().NoteSpace(full, {}, no_room);
    for (const NodeId node : {slow, full, third})
      control_->watch().Heard(node, {{"/data", 10, node == slow ? 5 * kSecond : 2 * kMillisecond, 0}}, {});
    control_->watch().Judge();
  };
  hear(true);
  EXPECT_FALSE(Ails(slow));
  hear(false);
  EXPECT_TRUE(Ails(slow));
  hear(true);
  EXPECT_FALSE(Ails(slow)) << "the other one that served has filled up since";
}

}  // namespace
}  // namespace millrace::master
