// Which node a word names, and how far draining has got.
#include "client/cli/find_node.h"

#include <gmock/gmock.h>

#include "client/cli/await_drained.h"
#include "tests/node_ids.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;

job::Node Make(std::uint32_t number, const std::string& name, const std::string& host, std::uint16_t port,
               bool alive = true) {
  job::Node node;
  node.node = NodeId{number};
  node.name = name;
  node.host = host;
  node.port = port;
  node.alive = alive;
  return node;
}

const std::vector<job::Node> kNodes = {Make(1, "two", "a", 7701), Make(2, "one", "b", 7701),
                                       Make(3, "", "b", 7702),    Make(4, "gone", "c", 7701, false),
                                       Make(5, "", "c", 7701),    Make(6, "", "7", 1)};

TEST(FindNodeTest, ByNumberNameAddressAndHost) {
  EXPECT_EQ(*FindNode(kNodes, "2"), 2_n);
  EXPECT_EQ(*FindNode(kNodes, "two"), 1_n);
  EXPECT_EQ(*FindNode(kNodes, "b:7702"), 3_n);
  EXPECT_EQ(*FindNode(kNodes, "a"), 1_n);
  EXPECT_EQ(*FindNode(kNodes, "gone"), 4_n);
  EXPECT_EQ(*FindNode(kNodes, "6"), 6_n);
}

TEST(FindNodeTest, TheLiveOneOfSeveralIsMeant) { EXPECT_EQ(*FindNode(kNodes, "c:7701"), 5_n); }

TEST(FindNodeTest, WhatNamesSeveralIsRefusedAndTheyAreNamed) {
  const Status refused = FindNode(kNodes, "b").status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("2 (b:7701), 3 (b:7702)"));
  EXPECT_EQ(FindNode(kNodes, "").status().code(), StatusCode::kNotFound) << "nodes without a name are not called \"\"";
  EXPECT_EQ(FindNode(kNodes, "d").status().code(), StatusCode::kNotFound);
}

class DrainProgressTest : public testing::Test {
 protected:
  DrainProgressTest() : nodes_(kNodes) {
    nodes_[0].draining = nodes_[1].draining = true;
    nodes_[0].drained = nodes_[1].drained = true;
  }
  [[nodiscard]] DrainProgress Of() const { return DrainProgressOf(nodes_, {1_n, 2_n}); }
  std::vector<job::Node> nodes_;
};

TEST_F(DrainProgressTest, ItIsDoneWithoutBlocksTasksAndOutputs) {
  EXPECT_TRUE(Of().done);
  nodes_[1].drained = false;
  nodes_[1].blocks_left = 7;
  nodes_[0].reduces_running = 2;
  EXPECT_FALSE(Of().done);
  EXPECT_EQ(Of().blocks_left, 7u);
  EXPECT_EQ(Of().tasks, 2u);
  nodes_[1].drained = true;
  EXPECT_FALSE(Of().done) << "tasks run";
  nodes_[0].reduces_running = 0;
  nodes_[0].outputs_left = 3;
  EXPECT_FALSE(Of().done) << "maps would run again";
  EXPECT_EQ(Of().outputs_left, 3u);
  nodes_[0].outputs_left = 0;
  EXPECT_TRUE(Of().done);
}

TEST_F(DrainProgressTest, NodesThatAreLostOrForgottenAreDone) {
  nodes_[1].drained = false;
  nodes_[1].alive = false;
  EXPECT_TRUE(Of().done);
  nodes_.erase(nodes_.begin() + 1);
  EXPECT_TRUE(Of().done);
}

TEST_F(DrainProgressTest, OneThatIsPutBackEndsTheWaiting) {
  nodes_[0].draining = nodes_[0].drained = false;
  EXPECT_EQ(Of().failure.code(), StatusCode::kCancelled);
}

TEST_F(DrainProgressTest, NobodyIsWaitedForWithoutANodeInUse) {
  EXPECT_FALSE(Of().nobody_else);
  for (job::Node& node : nodes_) node.draining = true;
  EXPECT_TRUE(Of().nobody_else);
}

}  // namespace
}  // namespace millrace::cli
