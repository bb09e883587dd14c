// SPDX-License-Identifier: Apache-2.0
// BlockManagerTest has a BlockManager and its nodes, and a time that stands still.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dfs/name/block_manager.h"
#include "tests/node_ids.h"

namespace millrace::dfs {

inline constexpr Micros kTimeout = 60 * kSecond;
inline constexpr std::uint64_t kLength = 100;

class BlockManagerTest : public testing::Test {
 protected:
  void Up(NodeId node, const std::vector<Block>& blocks = {}, const std::string& rack = "r") {
    blocks_.NodeUp(node, {rack, "d"});
    blocks_.NodeSpace(node, 1'000'000);
    Report(node, blocks);
  }
  void Report(NodeId node, const std::vector<Block>& blocks) {
    blocks_.ReportBegin(node);
    blocks_.ReportPart(node, blocks);
    blocks_.ReportEnd(node);
  }
  // Brings up a node n for each element of `held`; the node has the blocks held[n], of the usual length.
  void UpAll(const std::vector<std::vector<BlockId>>& held) {
    for (std::uint32_t node = 0; node < held.size(); ++node) {
      std::vector<Block> blocks;
      for (const BlockId id : held[node]) blocks.push_back({id, kLength});
      Up(NodeId{node}, blocks);
    }
  }
  BlockWork Work(std::uint32_t max_copies = 10) { return blocks_.NextWork(now_, max_copies, kTimeout); }
  std::map<NodeId, std::vector<BlockId>> Deletions() {
    std::map<NodeId, std::vector<BlockId>> all;
    for (const DeleteWork& work : Work().remove) EXPECT_TRUE(all.emplace(work.node, work.blocks).second);
    return all;
  }
  // Stores block 1 on nodes 0 and 1 and orders one of the two replicas deleted. Returns the node that gets the order.
  NodeId OrderSurplusAway() {
    blocks_.Want({1, kLength}, 1);
    UpAll({{1}, {1}});
    const auto deletions = Deletions();
    EXPECT_THAT(deletions, testing::SizeIs(1));
    return deletions.empty() ? NodeId{} : deletions.begin()->first;
  }
  void ExpectIdle() {
    const BlockWork work = Work();
    EXPECT_THAT(work.replicate, testing::IsEmpty());
    EXPECT_THAT(work.remove, testing::IsEmpty());
    EXPECT_THAT(work.aside, testing::IsEmpty());
  }
  BlockManager blocks_{Random(7)};
  Micros now_ = 0;
};

using Deleted = std::map<NodeId, std::vector<BlockId>>;

}  // namespace millrace::dfs
