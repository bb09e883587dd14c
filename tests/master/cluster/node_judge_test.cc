// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/node_judge.h"

#include <gmock/gmock.h>

#include <optional>
#include <set>

#include "base/random.h"

namespace millrace::master {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Micros kMs = kMillisecond;

NodeSigns Node(std::uint32_t number, Micros median = 2 * kMs, std::vector<std::uint32_t> unreached = {}) {
  NodeSigns signs{NodeId{number}, 2, 1, {"/data", 10, median, median}, {}};
  for (const std::uint32_t other : unreached) signs.unreached.push_back(NodeId{other});
  return signs;
}

std::vector<std::uint32_t> Numbers(const std::map<NodeId, Diagnosis>& ailing) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [node, diagnosis] : ailing) numbers.push_back(node.value);
  return numbers;
}

// Nodes 1, 2, ... with these median syncs.
std::vector<NodeSigns> Syncs(const std::vector<Micros>& medians) {
  std::vector<NodeSigns> nodes;
  for (const Micros median : medians) nodes.push_back(Node(static_cast<std::uint32_t>(nodes.size() + 1), median));
  return nodes;
}

// Nodes 1, 2, ... each with those that it cannot reach.
std::vector<NodeSigns> Reach(const std::vector<std::vector<std::uint32_t>>& unreached) {
  std::vector<NodeSigns> nodes;
  for (const auto& of : unreached) nodes.push_back(Node(static_cast<std::uint32_t>(nodes.size() + 1), 2 * kMs, of));
  return nodes;
}

TEST(NodeJudgeTest, WhoIsTenTimesSlowerThanTheOthersAils) {
  const Micros s = kSecond;
  const struct {
    const char* what;
    std::vector<Micros> medians;
    std::vector<std::uint32_t> ailing;
  } kTable[] = {
      {"all are quick", {2 * kMs, 2 * kMs, 3 * kMs, 2 * kMs}, {}},
      {"one takes two seconds", {2 * kMs, 2 * s, 3 * kMs, 2 * kMs}, {2}},
      {"a hundred times slower, and quick still", {2 * kMs, 900 * kMs, 3 * kMs, 2 * kMs}, {}},
      {"just slow", {2 * kMs, 1 * s, 3 * kMs, 2 * kMs}, {2}},
      {"slow, and the others are not quick", {150 * kMs, 1 * s, 200 * kMs, 150 * kMs}, {}},
      {"ten times as slow as slow ones", {150 * kMs, 2 * s, 200 * kMs, 150 * kMs}, {2}},
      {"all are slow", {9 * s, 9 * s, 30 * s, 9 * s}, {}},
      {"three nodes", {2 * kMs, 30 * s, 2 * kMs}, {2}},
      {"two nodes accuse nobody", {2 * kMs, 30 * s}, {}},
      {"one node accuses nobody", {30 * s}, {}},
      {"two of five: a third is one, the slowest", {2 * kMs, 9 * s, 2 * kMs, 30 * s, 2 * kMs}, {4}},
      {"two of six", {2 * kMs, 9 * s, 2 * kMs, 30 * s, 2 * kMs, 2 * kMs}, {2, 4}},
      {"half of six: the median is slow", {2 * kMs, 9 * s, 9 * s, 30 * s, 2 * kMs, 2 * kMs}, {3, 4}},
  };
  for (const auto& [what, medians, ailing] : kTable) {
    NodeJudge judge;
    EXPECT_EQ(Numbers(judge.Judge(Syncs(medians), kSecond)), ailing) << what;
  }
}

TEST(NodeJudgeTest, WhoIsOutOfReachOfTheOthersAilsAndNotThoseThatItNames) {
  const struct {
    const char* what;
    std::vector<std::vector<std::uint32_t>> unreached;
    std::vector<std::uint32_t> ailing;
  } kTable[] = {
      {"all is well", {{}, {}, {}, {}}, {}},
      {"three others name one", {{4}, {4}, {4}, {}}, {4}},
      {"it names them, too", {{4}, {4}, {4}, {1, 2, 3}}, {4}},
      {"it alone says so", {{}, {}, {}, {1, 2, 3}}, {4}},
      {"it reaches one still", {{}, {}, {}, {1, 2}}, {4}},
      {"two name one of four", {{4}, {4}, {}, {}}, {}},
      {"a link between two", {{2}, {1}, {}, {}}, {}},
      {"both others name one of three", {{3}, {3}, {}}, {3}},
      {"one other names one of three", {{3}, {}, {}}, {}},
      {"two nodes", {{2}, {1}}, {}},
      {"three name one of many", {{7}, {7}, {7}, {}, {}, {}, {}}, {7}},
      {"two name one of many", {{7}, {7}, {}, {}, {}, {}, {}}, {}},
      {"one cannot reach three of many", {{}, {}, {}, {}, {}, {}, {1, 2, 3}}, {7}},
      {"a ring of five", {{3, 4}, {4, 5}, {5, 1}, {1, 2}, {2, 3}}, {}},
      {"a ring of seven",
       {{3, 4, 5, 6}, {4, 5, 6, 7}, {5, 6, 7, 1}, {6, 7, 1, 2}, {7, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}},
       {}},
      {"halves", {{3, 4}, {3, 4}, {1, 2}, {1, 2}}, {}},
      {"halves of six", {{4, 5, 6}, {4, 5, 6}, {4, 5, 6}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}, {}},
      {"nobody reaches anybody", {{2, 3, 4}, {1, 3, 4}, {1, 2, 4}, {1, 2, 3}}, {}},
      {"two of six are alone", {{5, 6}, {5, 6}, {5, 6}, {5, 6}, {1, 2, 3, 4, 6}, {1, 2, 3, 4, 5}}, {5, 6}},
      {"two of five are alone: more than may ail", {{4, 5}, {4, 5}, {4, 5}, {1, 2, 3, 5}, {1, 2, 3, 4}}, {}},
      {"somebody who is not here is named", {{9}, {9}, {9}, {}}, {}},
      {"somebody names himself", {{1}, {}, {}, {}}, {}},
  };
  for (const auto& [what, unreached, ailing] : kTable) {
    NodeJudge judge;
    EXPECT_EQ(Numbers(judge.Judge(Reach(unreached), kSecond)), ailing) << what;
  }
}

TEST(NodeJudgeTest, NothingIsSaidOfADiskThatHasHardlySynced) {
  NodeJudge judge;
  std::vector<NodeSigns> nodes = Syncs({2 * kMs, 30 * kSecond, 2 * kMs, 2 * kMs});
  nodes[1].pace.syncs = NodeJudge::kLeastSyncs - 1;
  EXPECT_THAT(judge.Judge(nodes, kSecond), IsEmpty());
  nodes = Syncs({2 * kMs, 30 * kSecond, 2 * kMs, 2 * kMs});
  for (const std::size_t idle : {0, 2}) nodes[idle].pace.syncs = 0;
  EXPECT_THAT(judge.Judge(nodes, kSecond), IsEmpty()) << "there is one other to compare it with";
}

TEST(NodeJudgeTest, WhoAilsIsWellForAWhileBeforeItCounts) {
  NodeJudge judge;
  const auto slow = Syncs({2 * kMs, 4 * kSecond, 2 * kMs, 2 * kMs}),
             better = Syncs({2 * kMs, 600 * kMs, 2 * kMs, 2 * kMs}),
             well = Syncs({2 * kMs, 400 * kMs, 2 * kMs, 2 * kMs});
  EXPECT_THAT(Numbers(judge.Judge(better, 0)), IsEmpty()) << "it was not ailing";
  EXPECT_THAT(Numbers(judge.Judge(slow, 1 * kSecond)), ElementsAre(2));
  EXPECT_THAT(Numbers(judge.Judge(better, 100 * kSecond)), ElementsAre(2)) << "more than half of the limit";
  EXPECT_THAT(Numbers(judge.Judge(well, 101 * kSecond)), ElementsAre(2));
  EXPECT_THAT(Numbers(judge.Judge(better, 109 * kSecond)), ElementsAre(2));
  EXPECT_THAT(Numbers(judge.Judge(well, 118 * kSecond)), ElementsAre(2));
  EXPECT_THAT(Numbers(judge.Judge(well, 119 * kSecond)), IsEmpty());
}

TEST(NodeJudgeTest, WhoIsOutOfReachStaysSoWhileHalfSayIt) {
  NodeJudge judge;
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {4}, {4}, {}}), 0)), ElementsAre(4));
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {4}, {}, {}}), 100 * kSecond)), ElementsAre(4));
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {}, {}, {}}), 109 * kSecond)), ElementsAre(4));
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {}, {}, {}}), 110 * kSecond)), IsEmpty());
}

TEST(NodeJudgeTest, WhoAilsStaysWhenASecondOneWouldBeTooMany) {
  NodeJudge judge;
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {4}, {4}, {1, 2, 3}}), 0)), ElementsAre(4));
  EXPECT_THAT(Numbers(judge.Judge(Reach({{3, 4}, {3, 4}, {1, 2, 4}, {1, 2, 3}}), kSecond)), ElementsAre(4));
  NodeJudge slow;
  EXPECT_THAT(Numbers(slow.Judge(Syncs({2 * kMs, 2 * kMs, 2 * kMs, 2 * kSecond}), 0)), ElementsAre(4));
  EXPECT_THAT(Numbers(slow.Judge(Syncs({2 * kMs, 2 * kMs, 9 * kSecond, 2 * kSecond}), kSecond)), ElementsAre(4));
}

// Only one of five may ail. From a slow disk one can read.
TEST(NodeJudgeTest, WhoIsOutOfReachComesBeforeWhoIsSlow) {
  NodeJudge judge;
  std::vector<NodeSigns> nodes = Syncs({9 * kSecond, 2 * kMs, 2 * kMs, 2 * kMs, 2 * kMs});
  EXPECT_THAT(Numbers(judge.Judge(nodes, 0)), ElementsAre(1));
  for (const std::size_t other : {0, 1, 2, 3}) nodes[other].unreached = {NodeId{5}};
  EXPECT_THAT(Numbers(judge.Judge(nodes, kSecond)), ElementsAre(5));
  EXPECT_THAT(Numbers(judge.Judge(nodes, 2 * kSecond)), ElementsAre(5));
  for (const std::size_t other : {0, 1, 2, 3}) nodes[other].unreached.clear();
  EXPECT_THAT(Numbers(judge.Judge(nodes, 30 * kSecond)), ElementsAre(1));
}

TEST(NodeJudgeTest, ANodeThatIsLostIsForgotten) {
  NodeJudge judge;
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {4}, {4}, {}}), 0)), ElementsAre(4));
  EXPECT_THAT(Numbers(judge.Judge(Reach({{4}, {4}, {4}}), 1)), IsEmpty());
  EXPECT_THAT(Numbers(judge.Judge(Reach({{}, {}, {}, {}}), 2)), IsEmpty());
}

TEST(NodeJudgeTest, TheLastNodeWithSlotsOfAKindNeverAils) {
  const auto apart = [](std::vector<NodeSigns> nodes) {
    NodeJudge judge;
    return Numbers(judge.Judge(nodes, 0));
  };
  std::vector<NodeSigns> nodes = Reach({{4}, {4}, {4}, {}});
  for (const std::size_t other : {0, 1, 2}) nodes[other].reduce_slots = 0;
  EXPECT_THAT(apart(nodes), IsEmpty());
  nodes[1].reduce_slots = 1;
  EXPECT_THAT(apart(nodes), ElementsAre(4));
  for (NodeSigns& node : nodes) node.reduce_slots = 0;
  EXPECT_THAT(apart(nodes), ElementsAre(4)) << "nobody has any, so none are lost";
  std::vector<NodeSigns> six = Syncs({2 * kMs, 2 * kMs, 2 * kMs, 2 * kMs, 9 * kSecond, 9 * kSecond});
  for (const std::size_t other : {0, 1, 2, 3}) six[other].map_slots = 0;
  EXPECT_THAT(apart(six), ElementsAre(6)) << "one of the two that have map slots is left";
}

TEST(NodeJudgeTest, TheReasonHasTheNumbers) {
  NodeJudge judge;
  const auto reason = [&](const std::vector<NodeSigns>& nodes) {
    judge = NodeJudge();
    const auto& ailing = judge.Judge(nodes, 0);
    return ailing.size() == 1 ? ailing.begin()->second.reason : "";
  };
  EXPECT_EQ(reason(Syncs({2 * kMs, 2100 * kMs, 4 * kMs, 2 * kMs})),
            "the syncs of /data take 2.1 s, those of other nodes 2 ms");
  EXPECT_EQ(reason(Reach({{4}, {4}, {4}, {1, 2, 3}})), "3 of 3 other nodes cannot reach it");
  EXPECT_EQ(reason(Reach({{4}, {}, {}, {1, 2}})), "it cannot reach 2 of 3 other nodes");
}

// Whatever is reported: no more than a third ail, slots of each kind are left, whoever ails is spoken against, and a
// node of which nothing is said and which says nothing is well.
TEST(NodeJudgeTest, NoReportsTakeTooManyOut) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    NodeJudge judge;
    const std::size_t count = 1 + random.Below(12);
    Micros now = 0;
    for (int step = 0; step < 12; ++step) {
      std::vector<NodeSigns> nodes;
      const std::uint64_t bad = random.Below(4), slowness = random.Below(4);
      for (std::uint32_t n = 1; n <= count; ++n) {
        NodeSigns node =
            Node(n, random.Below(4) < slowness ? static_cast<Micros>(random.Below(40)) * kSecond : 2 * kMs);
        node.pace.syncs = static_cast<std::uint32_t>(random.Below(6));
        node.map_slots = static_cast<std::uint32_t>(random.Below(2));
        node.reduce_slots = static_cast<std::uint32_t>(random.Below(2));
        for (std::uint32_t other = 1; other <= count; ++other) {
          if (other != n && random.Below(4) < bad) node.unreached.push_back(NodeId{other});
        }
        if (random.Below(10) != 0) nodes.push_back(node);
      }
      now += static_cast<Micros>(random.Below(15)) * kSecond;
      const auto& ailing = judge.Judge(nodes, now);
      ASSERT_LE(ailing.size() * NodeJudge::kShare, nodes.size()) << "seed " << seed;
      for (const auto slots : {&NodeSigns::map_slots, &NodeSigns::reduce_slots}) {
        bool any = false, left = false;
        for (const NodeSigns& node : nodes) {
          any = any || node.*slots > 0;
          left = left || (node.*slots > 0 && !ailing.contains(node.node));
        }
        ASSERT_EQ(any, left) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::master
