// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/cluster_peers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

namespace millrace::worker {
namespace {

sockaddr_storage At(const char* host, std::uint16_t port) {
  sockaddr_storage address = {};
  auto& internet = reinterpret_cast<sockaddr_in&>(address);
  internet.sin_family = AF_INET;
  internet.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, host, &internet.sin_addr), 1);
  return address;
}

Result<dfs::ClientOptions> NoMaster() { return Unavailable("there is no master"); }

TEST(ClusterPeersTest, TheMastersAreKnownOnceTheyWereLookedUp) {
  ClusterPeers peers("127.0.0.1:4711,127.0.0.2:4711", "local", NoMaster, MakeSilentLog());
  std::promise<void> known;
  ASSERT_EQ(peers.Allows(At("127.0.0.2", 4711), [&] { known.set_value(); }), std::nullopt);
  known.get_future().wait();
  EXPECT_EQ(peers.Allows(At("127.0.0.2", 4711), [] {}), true);
  EXPECT_EQ(peers.Allows(At("127.0.0.1", 4711), [] {}), true);
  EXPECT_NE(peers.Allows(At("127.0.0.1", 4712), [] {}), true);
  EXPECT_TRUE(peers.AllowsLocal("local"));
  EXPECT_FALSE(peers.AllowsLocal("loca"));
}

TEST(ClusterPeersTest, AMasterThatDoesNotAnswerHoldsNobodyWhoAsks) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  ClusterPeers peers(
      "", "local",
      [answered]() -> Result<dfs::ClientOptions> {
        answered.wait();
        return Unavailable("at last");
      },
      MakeSilentLog());
  std::promise<void> first, second;
  EXPECT_EQ(peers.Allows(At("127.0.0.1", 1), [&] { first.set_value(); }), std::nullopt);
  EXPECT_EQ(peers.Allows(At("127.0.0.1", 2), [&] { second.set_value(); }), std::nullopt) << "it returns at once";
  answer.set_value();
  first.get_future().wait();
  second.get_future().wait();
}

}  // namespace
}  // namespace millrace::worker
