// SPDX-License-Identifier: Apache-2.0
#include "lab/model/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace millrace::sim {
namespace {

constexpr Micros kSecond = 1'000'000;

struct Scene {
  std::vector<double> capacities;
  std::vector<std::vector<LinkUse>> flows;
};

Scene RandomScene(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  Scene scene;
  const unsigned links = 1 + below(6), flows = 1 + below(9);
  for (unsigned i = 0; i < links; ++i) scene.capacities.push_back(1 + below(20));
  for (unsigned i = 0; i < flows; ++i) {
    auto& uses = scene.flows.emplace_back();
    for (unsigned link = 0; link < links; ++link) {
      if (below(2) == 0) uses.push_back({link, below(2) == 0 ? 1.0 : 0.1 * (1 + below(9))});
    }
    if (uses.empty()) uses.push_back({below(links), 1});
  }
  return scene;
}

std::vector<double> Solve(const Scene& scene) {
  Network network(1000, 1);
  for (const double capacity : scene.capacities) (void)network.AddLink(capacity);
  std::vector<FlowId> flows;
  for (const auto& uses : scene.flows) flows.push_back(network.Start(0, uses, 1e9, 0));
  (void)network.NextChange(0);
  std::vector<double> rates;
  for (const FlowId flow : flows) rates.push_back(network.Rate(flow));
  return rates;
}

// Progressive filling by its definition: all rates grow in small steps until a link would overflow; then the flows on
// that link stop growing.
std::vector<double> FillByStep(const Scene& scene, double step) {
  std::vector<double> rates(scene.flows.size());
  std::vector<bool> stopped(scene.flows.size());
  while (std::find(stopped.begin(), stopped.end(), false) != stopped.end()) {
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] += stopped[i] ? 0 : step;
    for (std::size_t link = 0; link < scene.capacities.size(); ++link) {
      double used = 0;
      for (std::size_t i = 0; i < rates.size(); ++i) {
        for (const LinkUse& use : scene.flows[i]) used += use.link == link ? use.weight * rates[i] : 0;
      }
      if (used < scene.capacities[link]) continue;
      for (std::size_t i = 0; i < rates.size(); ++i) {
        for (const LinkUse& use : scene.flows[i]) stopped[i] = stopped[i] || use.link == link;
      }
    }
  }
  return rates;
}

TEST(Network, RatesAreThoseOfProgressiveFilling) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Scene scene = RandomScene(random);
    const std::vector<double> solved = Solve(scene), filled = FillByStep(scene, 1e-3);
    for (std::size_t i = 0; i < solved.size(); ++i) EXPECT_NEAR(solved[i], filled[i], 2e-2) << "seed " << seed;
  }
}

// Checks what characterises the max-min solution: no link is over its capacity, and each flow has a full link on which
// no other flow is faster.
TEST(Network, EachFlowHasABottleneck) {
  for (unsigned seed = 1000; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const Scene scene = RandomScene(random);
    const std::vector<double> rates = Solve(scene);
    std::vector<double> used(scene.capacities.size()), fastest(scene.capacities.size());
    for (std::size_t i = 0; i < rates.size(); ++i) {
      for (const LinkUse& use : scene.flows[i]) {
        used[use.link] += use.weight * rates[i];
        fastest[use.link] = std::max(fastest[use.link], rates[i]);
      }
    }
    for (std::size_t link = 0; link < used.size(); ++link) {
      EXPECT_LE(used[link], scene.capacities[link] * (1 + 1e-9)) << "seed " << seed;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const auto& uses = scene.flows[i];
      EXPECT_TRUE(std::any_of(uses.begin(), uses.end(),
                              [&](const LinkUse& use) {
                                return used[use.link] >= scene.capacities[use.link] * (1 - 1e-9) &&
                                       rates[i] >= fastest[use.link] * (1 - 1e-9);
                              }))
          << "seed " << seed << " flow " << i;
    }
  }
}

// Runs to the end. Returns when the flow of each tag ended.
std::map<std::uint64_t, Micros> RunOut(Network& network, Micros now) {
  std::map<std::uint64_t, Micros> ends;
  while (const auto next = network.NextChange(now)) {
    now = *next;
    std::vector<std::uint64_t> ended;
    network.Advance(now, &ended);
    for (const std::uint64_t tag : ended) ends[tag] = now;
  }
  return ends;
}

TEST(Network, WhatOneFlowLeavesTheOtherGets) {
  Network network;
  const LinkId link = network.AddLink(100);
  const LinkUse uses[] = {{link, 1}};
  (void)network.Start(0, uses, 100, 1);
  (void)network.Start(0, uses, 200, 2);
  // 50 B/s each for 2 s; then 100 of the second are left, at 100 B/s.
  EXPECT_EQ(RunOut(network, 0), (std::map<std::uint64_t, Micros>{{1, 2 * kSecond}, {2, 3 * kSecond}}));
}

TEST(Network, AFlowThatIsStoppedLeavesItsShare) {
  Network network;
  const LinkId link = network.AddLink(100);
  const LinkUse uses[] = {{link, 1}};
  const FlowId first = network.Start(0, uses, 1000, 1);
  (void)network.Start(0, uses, 200, 2);
  (void)network.NextChange(0);
  EXPECT_DOUBLE_EQ(network.Stop(2 * kSecond, first), 900);
  EXPECT_EQ(RunOut(network, 2 * kSecond), (std::map<std::uint64_t, Micros>{{2, 3 * kSecond}}));
}

TEST(Network, AShareOfALinkTakesSoMuchOfIt) {
  Network network;
  const LinkId wide = network.AddLink(100), narrow = network.AddLink(10);
  const LinkUse uses[] = {{wide, 1}, {narrow, 0.2}};
  (void)network.Start(0, uses, 500, 1);
  EXPECT_EQ(RunOut(network, 0), (std::map<std::uint64_t, Micros>{{1, 10 * kSecond}}));  // at 10 / 0.2 B/s
}

TEST(Network, NothingToCarryOrNoLinkEndsAtOnce) {
  Network network;
  const LinkUse uses[] = {{network.AddLink(100), 1}};
  (void)network.Start(7, uses, 0, 1);
  (void)network.Start(7, {}, 1e12, 2);
  EXPECT_EQ(RunOut(network, 7), (std::map<std::uint64_t, Micros>{{1, 7}, {2, 7}}));
}

// 300 flows go through 20 links. With rates that are only solved now and then, transfers end at about the same time as
// with exact ones.
TEST(Network, FewerSolutionsMoveEndsByAboutOneQuantum) {
  constexpr Micros kPerFlow = 1'000;
  std::map<std::uint64_t, Micros> ends[2];
  for (const bool exact : {true, false}) {
    std::mt19937 random(7);
    Network network(exact ? 1000 : 10, kPerFlow);
    for (int i = 0; i < 20; ++i) (void)network.AddLink(1e6);
    Micros now = 0;
    for (std::uint64_t flow = 0; flow < 300; ++flow, now += 10'000) {
      std::vector<std::uint64_t> ended;
      for (auto next = network.NextChange(now); next && *next <= now; next = network.NextChange(now)) {
        network.Advance(now, &ended);
        if (ended.empty()) break;
        for (const std::uint64_t tag : ended) ends[exact][tag] = now;
        ended.clear();
      }
      const LinkId from = static_cast<LinkId>(random() % 20), to = (from + 1 + static_cast<LinkId>(random() % 19)) % 20;
      const LinkUse uses[] = {{from, 1}, {to, 1}};
      (void)network.Start(now, uses, 1e5 + static_cast<double>(random() % 100'000), flow);
    }
    ends[exact].merge(RunOut(network, now));
    ASSERT_EQ(ends[exact].size(), 300U);
  }
  double error = 0, took = 0;
  for (const auto& [flow, end] : ends[true]) {
    error += static_cast<double>(std::abs(ends[false].at(flow) - end));
    took += static_cast<double>(end - static_cast<Micros>(flow) * 10'000);
  }
  EXPECT_LT(error / 300, 300.0 * kPerFlow) << "mean duration " << took / 300;
}

}  // namespace
}  // namespace millrace::sim
