// SPDX-License-Identifier: Apache-2.0
// Tests by what a master lets its workers' blocks be written: tokens, and, while programs of protocol level 1 take
// part, what it tells the workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include "base/cluster_id.h"
#include "base/release.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/status_codec.h"
#include "dfs/wire/write_order.h"
#include "master/control/cluster_record.h"
#include "master/control/control.h"
#include "master/control/wire_codec.h"
#include "master/service/master_service.h"
#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// The writes that the master has allowed to a worker, and the tokens of its orders to copy.
struct Told {
  std::vector<std::pair<std::uint64_t, std::string>> allowed;
  std::vector<std::string> copies;  // the tokens of their orders
};

class Worker final : public worker::wire::WorkerControl::Server {
 public:
  explicit Worker(Told& told) : told_(told) {}
  kj::Promise<void> allowWrite(AllowWriteContext context) override {
    const auto token = context.getParams().getToken().asChars();
    told_.allowed.emplace_back(context.getParams().getBlock(), std::string(token.begin(), token.size()));
    return kj::READY_NOW;
  }
  kj::Promise<void> replicate(ReplicateContext context) override {
    const auto token = context.getParams().getToken().asChars();
    told_.copies.emplace_back(token.begin(), token.size());
    return kj::READY_NOW;
  }

 private:
  Told& told_;
};

class BlockTokensTest : public testing::Test {
 protected:
  BlockTokensTest() {
    OptionSet declared = DeclareMasterOptions(&config_);
    config_.startup_grace = 0;
    MILLRACE_CHECK(StoreClusterId(cluster_, store_.get()).ok(), "no cluster");
    Start();
  }
  ~BlockTokensTest() noexcept override { Stop(); }

  void Start() {
    auto control = Control::Make(
        config_, ControlDependencies{.timer = timer_,
                                     .clock = clock_,
                                     .store = *store_,
                                     .commit_log = *commit_log_,
                                     .random = Random(1),
                                     .block_numbers = [numbers = Random(2)]() mutable { return numbers.Next(); },
                                     .log = MakeSilentLog(),
                                     .write_key = key_});
    MILLRACE_CHECK(control.ok(), control.status().message());
    control_ = *std::move(control);
  }
  void Stop() {
    sessions_.clear();
    io_.waitScope.poll();
    control_.reset();
  }
  [[nodiscard]] wire::Master::Client Master() {
    return MakeMasterServices(*control_)(rpc::Peer()).castAs<wire::Master>();
  }

  // Returns the key of writers that the worker is given.
  std::string Register(const std::string& name, std::uint16_t port, std::uint32_t level) {
    auto request = Master().registerRequest();
    auto info = request.initWorker();
    info.setStorage(name);
    info.setHost("127.0.0.1");
    info.setPort(port);
    info.setRack("r");
    info.setDatacenter("d");
    info.setCluster(cluster_);
    info.setProtocol(level);
    request.setControl(kj::heap<Worker>(told_[port]));
    auto answer = request.send().wait(io_.waitScope);
    sessions_.push_back(answer.getSession());
    auto beat = sessions_.back().heartbeatRequest();
    beat.initStats().setCapacity(std::uint64_t{1} << 40);
    beat.getStats().setFree(std::uint64_t{1} << 40);
    beat.send().wait(io_.waitScope);
    auto report = sessions_.back().reportBlocksRequest();
    report.setLast(true);
    report.send().wait(io_.waitScope);
    const auto key = answer.getSettings().getWriteKey().asChars();
    return {key.begin(), key.size()};
  }

  dfs::wire::FileLease::Client Open(const std::string& path, std::uint32_t replication = 2) {
    auto asking = Master().namesRequest();
    asking.setProtocol(ThisRelease().protocol);
    auto create = asking.send().getService().createRequest();
    create.setPath(ToData(path));
    create.setReplication(replication);
    return create.send().wait(io_.waitScope).getLease();
  }
  struct Given {
    std::uint64_t block = 0;
    std::string token;
    std::vector<dfs::ReplicaHost> targets;
  };
  Given AddBlock(dfs::wire::FileLease::Client lease, bool shows_token) {
    auto request = lease.addBlockRequest();
    request.setShowsToken(shows_token);
    auto answer = request.send().wait(io_.waitScope);
    Given given{answer.getId(), {}, {}};
    const auto token = answer.getToken().asChars();
    given.token.assign(token.begin(), token.size());
    for (const auto target : answer.getTargets())
      given.targets.push_back({NodeId{target.getNode()}, target.getHost(), target.getPort(), {}, {}, {}});
    return given;
  }
  // Returns the pipeline of the order, by ports, as the node at `port` reads the token.
  std::vector<std::uint16_t> PortsOf(const std::string& token, std::uint64_t block, const dfs::ReplicaHost& at,
                                     Micros now = kSecond) const {
    const auto order = dfs::CheckWriteToken(key_, token, block, {{}, false, at.node}, now);
    EXPECT_TRUE(order.ok()) << order.status().message();
    std::vector<std::uint16_t> ports;
    if (!order.ok()) return ports;
    for (const dfs::ReplicaHost& place : order->pipeline) ports.push_back(place.port);
    return ports;
  }
  static std::vector<std::uint16_t> PortsOf(const std::vector<dfs::ReplicaHost>& places) {
    std::vector<std::uint16_t> ports;
    for (const dfs::ReplicaHost& place : places) ports.push_back(place.port);
    return ports;
  }

  const std::string cluster_ = FormatClusterId(1, 2);
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::Timer& timer_ = io_.provider->getTimer();
  const DrivenClock clock_{kSecond};
  MasterConfig config_;
  const tls::TokenKey key_{tls::TokenKey::MakeRandom()};
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<rpc::CommitLog> commit_log_ =
      rpc::MakeInlineCommitLog(*store_, [](const Status& failure) { FAIL() << failure.message(); });
  std::unique_ptr<Control> control_;
  std::map<std::uint16_t, Told> told_;
  std::vector<wire::WorkerSession::Client> sessions_;
};

TEST_F(BlockTokensTest, AClientTellsItsReleaseOnceAConnection) {
  const auto ask = [this](wire::Master::Client& master, std::uint32_t level) {
    auto asking = master.namesRequest();
    asking.setProtocol(level);
    try {
      asking.send().wait(io_.waitScope);
      return Status::Ok();
    } catch (const kj::Exception& refused) {
      return rpc::FromException(refused);
    }
  };
  auto connection = Master();
  EXPECT_THAT(ask(connection, 0).message(), testing::HasSubstr("upgrade this client"));
  EXPECT_TRUE(ask(connection, ThisRelease().protocol - 1).ok());
  EXPECT_TRUE(ask(connection, 0).ok()) << "it was told";
  auto another = Master();
  EXPECT_FALSE(ask(another, 0).ok());
}

TEST_F(BlockTokensTest, ANewBlockComesWithATokenForItsPipeline) {
  EXPECT_EQ(Register("w1", 1001, kProtocolLevel), key_.bytes());
  Register("w2", 1002, kProtocolLevel);
  const Given given = AddBlock(Open("/a"), true);
  ASSERT_THAT(given.targets, SizeIs(2));
  EXPECT_EQ(PortsOf(given.token, given.block, given.targets[0]), PortsOf(given.targets));
  EXPECT_EQ(PortsOf(given.token, given.block, given.targets[1], 23 * kHour), PortsOf(given.targets));
  EXPECT_FALSE(
      dfs::CheckWriteToken(key_, given.token, given.block, {{}, false, given.targets[1].node}, 25 * kHour).ok());
  EXPECT_THAT(told_[1001].allowed, IsEmpty());
}

TEST_F(BlockTokensTest, TheKeyOutlivesTheMasterSoThatAWriteGoesOn) {
  Register("w1", 1001, kProtocolLevel);
  const Given given = AddBlock(Open("/a", 1), true);
  Stop();
  Start();
  EXPECT_EQ(Register("w1", 1001, kProtocolLevel), key_.bytes());
  EXPECT_EQ(PortsOf(given.token, given.block, given.targets[0]), PortsOf(given.targets));
}

TEST_F(BlockTokensTest, WorkersAreToldOfAWriterThatKnowsNoTokens) {
  Register("w1", 1001, kProtocolLevel);
  Register("w2", 1002, kProtocolLevel);
  const Given given = AddBlock(Open("/a"), false);
  EXPECT_EQ(given.token, "");
  for (const dfs::ReplicaHost& target : given.targets) {
    ASSERT_THAT(told_[target.port].allowed, SizeIs(1)) << "before the writer has its answer";
    EXPECT_EQ(told_[target.port].allowed[0].first, given.block);
    EXPECT_EQ(PortsOf(told_[target.port].allowed[0].second, given.block, target), PortsOf(given.targets));
  }
}

TEST_F(BlockTokensTest, AWorkerThatKnowsNoTokensIsShownNone) {
  Register("w1", 1001, kWriteTokensSince - 1);
  Register("w2", 1002, kProtocolLevel);
  const Given given = AddBlock(Open("/a"), true);
  EXPECT_EQ(given.token, "");
  EXPECT_THAT(told_[1001].allowed, IsEmpty());
  EXPECT_THAT(told_[1002].allowed, SizeIs(1));
}

TEST_F(BlockTokensTest, ACopyIsOrderedByATokenOfWhatItIsToBe) {
  Register("w1", 1001, kProtocolLevel);
  const Given given = AddBlock(Open("/a"), true);
  dfs::BlockManager& blocks = control_->files().blocks();
  const dfs::Block block{77, 100, 5};
  blocks.Want(block, 2);
  blocks.Written(given.targets[0].node, block);
  Register("w2", 1002, kProtocolLevel);
  while (told_[1001].copies.empty()) timer_.afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
  const NodeId second = control_->nodes().FindByStorage("w2")->number;
  const auto order = dfs::CheckWriteToken(key_, told_[1001].copies[0], block.id, {{}, false, second}, kSecond);
  ASSERT_TRUE(order.ok()) << order.status().message();
  ASSERT_TRUE(order->copy_of.has_value());
  EXPECT_EQ(*order->copy_of, (dfs::BlockContent{100, 5}));
  EXPECT_THAT(PortsOf(order->pipeline), ElementsAre(1002));
  EXPECT_THAT(told_[1002].allowed, IsEmpty());
}

TEST_F(BlockTokensTest, TargetsAreToldOfACopyByAWorkerThatKnowsNoTokens) {
  Register("w1", 1001, kWriteTokensSince - 1);
  const NodeId first = control_->nodes().FindByStorage("w1")->number;
  dfs::BlockManager& blocks = control_->files().blocks();
  blocks.Want({77, 100, 5}, 2);
  blocks.Written(first, {77, 100, 5});
  Register("w2", 1002, kProtocolLevel);
  while (told_[1001].copies.empty()) timer_.afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
  EXPECT_EQ(told_[1001].copies[0], "");
  ASSERT_THAT(told_[1002].allowed, SizeIs(1));
  const NodeId second = control_->nodes().FindByStorage("w2")->number;
  EXPECT_TRUE(dfs::CheckWriteToken(key_, told_[1002].allowed[0].second, 77, {{}, false, second}, kSecond).ok());
}

}  // namespace
}  // namespace millrace::master
