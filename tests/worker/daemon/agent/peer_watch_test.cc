// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/peer_watch.h"

#include <gmock/gmock.h>
#include <kj/timer.h>

#include <map>

#include "base/rpc/status_codec.h"
#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

enum class Port { kListens, kNobodyListens, kSilent, kRefuses };

class Ports final : public rpc::Dialer {
 public:
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override {
    const std::string name(address.cStr());
    ++dials[name];
    switch (ports[name]) {
      case Port::kNobodyListens:
        return rpc::NobodyListens(name);
      case Port::kSilent:
        return kj::NEVER_DONE;
      case Port::kRefuses:
        return rpc::ToException(Unavailable("connect to " + name + ": no route"));
      case Port::kListens:
        break;
    }
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    return kj::mv(pipe.ends[0]);
  }
  std::map<std::string, Port> ports;
  std::map<std::string, int> dials;
};

class PeerWatchTest : public testing::Test {
 protected:
  ~PeerWatchTest() noexcept override = default;
  void Advance(kj::Duration time) {
    now_ += time;
    timer_.advanceTo(now_);
    scope_.poll();
  }
  void Look(const PeerPlace& peer) {
    watch_.Look(peer);
    scope_.poll();
  }
  std::vector<std::string> Unreached() {
    std::vector<std::string> lines;
    for (const PeerWatch::Unreached& peer : watch_.ListUnreached()) {
      lines.push_back(peer.peer.host + " " + std::to_string(peer.failures) + " times in " +
                      std::to_string(peer.since / kj::MILLISECONDS) + " ms");
    }
    return lines;
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimePoint now_ = kj::origin<kj::TimePoint>();
  kj::TimerImpl timer_{now_};
  Ports dialer_;
  int changes_ = 0;
  PeerWatch watch_{timer_, &dialer_, [this] { ++changes_; }, MakeSilentLog()};
};

TEST_F(PeerWatchTest, APeerThatTakesAConnectionIsReached) {
  Look({"a", 70});
  Look({"fd00::1", 70});
  EXPECT_THAT(Unreached(), IsEmpty());
  EXPECT_EQ(dialer_.dials["a:70"], 1);
  EXPECT_EQ(dialer_.dials["[fd00::1]:70"], 1);
  EXPECT_EQ(changes_, 0);
}

TEST_F(PeerWatchTest, AMachineThatAnswersIsReachedThoughItsWorkerIsGone) {
  dialer_.ports["a:70"] = Port::kNobodyListens;
  Look({"a", 70});
  EXPECT_THAT(Unreached(), IsEmpty());
}

TEST_F(PeerWatchTest, ASilentPeerIsLookedAtASecondTimeAtOnce) {
  dialer_.ports["a:70"] = Port::kSilent;
  Look({"a", 70});
  Look({"a", 70});
  EXPECT_EQ(dialer_.dials["a:70"], 1) << "it is looked at already";
  EXPECT_THAT(Unreached(), IsEmpty()) << "nothing is known yet";
  Advance(PeerWatch::kLimit);
  EXPECT_THAT(Unreached(), ElementsAre("a 1 times in 0 ms"));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(dialer_.dials["a:70"], 2);
  Advance(PeerWatch::kLimit);
  EXPECT_THAT(Unreached(), ElementsAre("a 2 times in 1500 ms"));
  EXPECT_EQ(changes_, 2);
  Advance(PeerWatch::kLimit);
  EXPECT_EQ(dialer_.dials["a:70"], 2) << "until somebody asks again";
  Look({"a", 70});
  Advance(PeerWatch::kLimit);
  EXPECT_THAT(Unreached(), ElementsAre("a 3 times in 4500 ms"));
  EXPECT_EQ(changes_, 2) << "that is no news";
}

TEST_F(PeerWatchTest, APeerThatIsReachedAgainIsNotNamedAnyMore) {
  dialer_.ports["a:70"] = Port::kRefuses;
  Look({"a", 70});
  EXPECT_THAT(Unreached(), ElementsAre("a 2 times in 0 ms"));
  dialer_.ports["a:70"] = Port::kListens;
  Look({"a", 70});
  EXPECT_THAT(Unreached(), IsEmpty());
  EXPECT_EQ(changes_, 3);
}

TEST_F(PeerWatchTest, APeerThatNobodyAsksForIsForgotten) {
  dialer_.ports["a:70"] = Port::kRefuses;
  Look({"a", 70});
  Advance(PeerWatch::kKept - kj::MILLISECONDS);
  EXPECT_EQ(Unreached().size(), 1U);
  Advance(kj::MILLISECONDS);
  EXPECT_THAT(Unreached(), IsEmpty());
}

TEST_F(PeerWatchTest, OnlySoManyAreLookedAtAtOnce) {
  for (std::uint16_t port = 1; port <= 100; ++port) {
    dialer_.ports["a:" + std::to_string(port)] = Port::kSilent;
    Look({"a", port});
  }
  EXPECT_EQ(dialer_.dials.size(), PeerWatch::kMostAtOnce);
}

TEST_F(PeerWatchTest, WithoutADialerNobodyIsLookedAt) {
  PeerWatch blind(
      timer_, nullptr, [this] { ++changes_; }, MakeSilentLog());
  blind.Look({"a", 70});
  scope_.poll();
  EXPECT_THAT(blind.ListUnreached(), IsEmpty());
}

TEST_F(PeerWatchTest, ADoubtedPeerIsNamedUntilItIsLookedAt) {
  watch_.Doubt({"a", 70});
  watch_.Doubt({"a", 70});
  EXPECT_EQ(changes_, 1);
  EXPECT_THAT(Unreached(), ElementsAre("a 0 times in 0 ms"));
  EXPECT_THAT(dialer_.dials, IsEmpty());
  Look({"a", 70});
  EXPECT_THAT(Unreached(), IsEmpty());
  for (std::uint16_t port = 1; port < 2 * PeerWatch::kMostKept; ++port) watch_.Doubt({"b", port});
  EXPECT_EQ(Unreached().size(), PeerWatch::kMostKept);
  Advance(PeerWatch::kKept);
  EXPECT_THAT(Unreached(), IsEmpty());
}

// The same by way of the master.
class PeersTest : public AgentTest {
 protected:
  ~PeersTest() noexcept override { agent_ = nullptr; }
  Ports ports_;
};

TEST_F(PeersTest, TheWorkerLooksAtWhomTheMasterNamesAndSaysAtOnceWhomItDoesNotReach) {
  peers_ = &ports_;
  ports_.ports["b:71"] = Port::kSilent;
  record_.look = {{"a", 70}, {"b", 71}};
  StartAgent();
  Advance(100 * kj::MILLISECONDS);
  EXPECT_EQ(ports_.dials["a:70"], 1);
  record_.heartbeats.clear();
  Advance(PeerWatch::kLimit - 150 * kj::MILLISECONDS);
  const std::size_t before = record_.heartbeats.size();
  Advance(100 * kj::MILLISECONDS);
  ASSERT_GT(record_.heartbeats.size(), before) << "it does not wait for the time of the next heartbeat";
  EXPECT_THAT(record_.heartbeats.back().unreached, ElementsAre("b:71 once"));
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(record_.heartbeats.back().unreached, ElementsAre(testing::StartsWith("b:71 ")));
  EXPECT_GT(ports_.dials["a:70"], 3) << "as often as the master asks";
  ports_.ports["b:71"] = Port::kListens;
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(record_.heartbeats.back().unreached, IsEmpty());
}

TEST_F(PeersTest, ATransferThatCouldNotConnectIsToldToTheMasterWhichHasItsPeerLookedAt) {
  peers_ = &ports_;
  ports_.ports["b:71"] = Port::kRefuses;
  StartAgent();
  plane_.events().unreached("b", 71);
  RunReady();
  EXPECT_THAT(record_.heartbeats.back().unreached, ElementsAre("b:71 0 times"));
  Advance(2 * kj::SECONDS);
  EXPECT_THAT(ports_.dials, IsEmpty()) << "it may be anybody's address, as long as the master has not named it";
  record_.look = {{"b", 71}};
  Advance(2 * kj::SECONDS);
  EXPECT_GT(ports_.dials["b:71"], 1);
  EXPECT_THAT(record_.heartbeats.back().unreached, ElementsAre(testing::StartsWith("b:71 ")));
  ports_.ports["b:71"] = Port::kListens;
  Advance(2 * kj::SECONDS);
  EXPECT_THAT(record_.heartbeats.back().unreached, IsEmpty());
}

TEST_F(PeersTest, TheMasterHearsHowLongSyncsTake) {
  syncs_ = [] { return std::vector<dfs::SyncTimes>{{"/a", 0, 0, 0}, {"/b", 7, 2 * kMillisecond, 2 * kSecond}}; };
  StartAgent();
  ASSERT_FALSE(record_.heartbeats.empty());
  EXPECT_THAT(record_.heartbeats.back().disks, ElementsAre("/b: 7 syncs, 2000 us, 2000000 us"));
}

}  // namespace
}  // namespace millrace::worker
