// SPDX-License-Identifier: Apache-2.0
// Tests the rows of a cluster's nodes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lab/live/cluster_arena.h"

namespace millrace::compare {
namespace {

job::Node NodeAt(std::uint32_t number, const std::string& datacenter, const std::string& host) {
  job::Node node;
  node.node = NodeId{number};
  node.datacenter = datacenter, node.rack = "/r", node.host = host, node.port = 7701;
  node.alive = true;
  return node;
}

std::vector<std::string> Names(const ClusterRows& made) {
  std::vector<std::string> names;
  for (const NodeRow& row : made.rows) names.push_back(row.datacenter + " " + row.name);
  return names;
}

// A run that was made before names nodes by their rows.
TEST(ClusterRowsTest, AClusterThatIsSetUpAgainHasTheSameRows) {
  const ClusterRows before = RowsOf({NodeAt(1, "west", "c"), NodeAt(2, "east", "b"), NodeAt(3, "east", "a")});
  const ClusterRows after = RowsOf({NodeAt(1, "east", "a"), NodeAt(2, "west", "c"), NodeAt(3, "east", "b")});
  EXPECT_EQ(Names(before), (std::vector<std::string>{"east a:7701", "east b:7701", "west c:7701"}));
  EXPECT_EQ(Names(before), Names(after));
  EXPECT_EQ(before.numbers, (NodeNumbers{{NodeId{3}, NodeId{0}}, {NodeId{2}, NodeId{1}}, {NodeId{1}, NodeId{2}}}));
  EXPECT_EQ(after.numbers, (NodeNumbers{{NodeId{1}, NodeId{0}}, {NodeId{3}, NodeId{1}}, {NodeId{2}, NodeId{2}}}));
}

TEST(ClusterRowsTest, OnlyNodesThatAreAliveTakePart) {
  job::Node lost = NodeAt(1, "east", "a");
  lost.alive = false;
  EXPECT_EQ(Names(RowsOf({lost, NodeAt(2, "east", "b")})), (std::vector<std::string>{"east b:7701"}));
}

}  // namespace
}  // namespace millrace::compare
