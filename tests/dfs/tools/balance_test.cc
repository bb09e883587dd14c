// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tests/dfs/tools/fs_fixture.h"

namespace millrace::dfs::testing {
namespace {

class BalanceTest : public FsTest {
 protected:
  static BalanceStatus InPhase(BalancePhase phase, std::uint64_t left = 0) {
    return {.phase = phase,
            .threshold = 0.1,
            .mean = 0.4,
            .smallest = 0.31,
            .largest = 0.478,
            .bytes_left = left,
            .moved_blocks = 3,
            .moved_bytes = 192 << 20,
            .moving_blocks = 2};
  }
};

TEST_F(BalanceTest, BeginsInTheBackground) {
  tree_->balance = {InPhase(BalancePhase::kMoving, 64 << 20)};
  const Ran ran = Run({"balance"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(tree_->thresholds, std::vector<double>{0.1});
  EXPECT_EQ(ran.out, "balancing begins with 64 MiB to move; `millrace fs balance --status` shows its progress\n");
}

TEST_F(BalanceTest, TakesPercents) {
  EXPECT_EQ(Run({"balance", "--threshold", "2.5"}).status, 0);
  EXPECT_EQ(Run({"balance", "--threshold=100%"}).status, 0);
  EXPECT_EQ(tree_->thresholds, (std::vector<double>{0.025, 1}));
  for (const std::string wrong : {"0", "-1", "101", "ten", "%", "1x", "nan", "inf"}) {
    Refuses(2, {"balance", "--threshold=" + wrong}, {"above 0 and up to 100"});
  }
  Refuses(2, {"balance", "--stop", "--wait"}, {"exclude each other"});
  Refuses(2, {"balance", "--json"}, {"--status"});
  Refuses(2, {"balance", "--limit", "soon"}, {"--limit"});
  Refuses(2, {"balance", "/a"}, {"unexpected argument"});
  EXPECT_EQ(tree_->thresholds.size(), 2u);
}

TEST_F(BalanceTest, WaitsUntilItIsBalanced) {
  tree_->balance = {InPhase(BalancePhase::kMoving, 64 << 20), InPhase(BalancePhase::kMoving, 32 << 20),
                    InPhase(BalancePhase::kBalanced)};
  const Ran ran = Run({"balance", "--wait"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.err.find("balance: 192 MiB moved, 64 MiB left, the workers hold 31.0% to 47.8%\n"), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("32 MiB left"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.out, "balanced: 3 blocks of 192 MiB were moved, the workers hold 31.0% to 47.8%\n");
  tree_->balance = {InPhase(BalancePhase::kBalanced)};
  tree_->balance[0].moved_blocks = 1;
  EXPECT_TRUE(Run({"balance", "--wait"}).out.starts_with("balanced: 1 block of 192 MiB was moved, "));
}

TEST_F(BalanceTest, WhoWaitsIsToldWhyItEnded) {
  tree_->balance = {InPhase(BalancePhase::kStuck, 9)};
  Refuses(1, {"balance", "--wait"}, {"nothing else can be moved", "31.0% to 47.8%", "40.0% is the mean"});
  tree_->balance = {InPhase(BalancePhase::kStopped, 9)};
  Refuses(1, {"balance", "--wait"}, {"was stopped after 3 blocks"});
  tree_->balance = {BalanceStatus{}};
  Refuses(1, {"balance", "--wait"}, {"the master was restarted"});
}

TEST_F(BalanceTest, WaitsNoLongerThanTheLimit) {
  tree_->balance = {InPhase(BalancePhase::kMoving, 9)};
  const Ran ran = Run({"balance", "--wait", "--limit", "0"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("beyond the time of --limit"), std::string::npos) << ran.err;
  EXPECT_EQ(tree_->balance_stops, 0) << "it goes on";
}

TEST_F(BalanceTest, Stops) {
  tree_->balance = {InPhase(BalancePhase::kMoving)};
  EXPECT_EQ(Run({"balance", "--stop"}).out, "balancing is stopped; replicas that are on their way still arrive\n");
  tree_->balance = {InPhase(BalancePhase::kBalanced)};
  EXPECT_EQ(Run({"balance", "--stop"}).out, "balancing was not under way\n");
  EXPECT_EQ(tree_->balance_stops, 2);
  EXPECT_TRUE(tree_->thresholds.empty());
}

TEST_F(BalanceTest, SaysHowItStands) {
  tree_->balance = {InPhase(BalancePhase::kMoving, 64 << 20)};
  EXPECT_EQ(Run({"balance", "--status"}).out,
            "balancing         moving\n"
            "shares            31.0% to 47.8%, of all 40.0%\n"
            "threshold         10.0%\n"
            "moved             3 blocks of 192 MiB, 2 on their way\n"
            "left              64 MiB\n");
  const auto json = nlohmann::json::parse(Run({"balance", "--status", "--json"}).out);
  EXPECT_EQ(json.at("state"), "moving");
  EXPECT_EQ(json.at("moved_bytes"), 192 << 20);
  EXPECT_EQ(json.at("largest_fraction"), 0.478);
  tree_->balance = {BalanceStatus{.smallest = 0.00002, .largest = 0.5}};
  EXPECT_EQ(Run({"balance", "--status"}).out,
            "balancing         off\n"
            "shares            0.002000% to 50.0%, of all 0.0%\n");
  EXPECT_TRUE(tree_->thresholds.empty());
}

}  // namespace
}  // namespace millrace::dfs::testing
