// SPDX-License-Identifier: Apache-2.0
// Tests which node a word names.
#include "client/cli/find.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace millrace::cli
