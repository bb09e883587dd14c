// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/shares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace millrace::sched {
namespace {

using Shares = std::vector<double>;

void ExpectShares(double capacity, const std::vector<ShareClaim>& claims, const Shares& expected) {
  const Shares shares = FairShares(capacity, claims);
  ASSERT_EQ(shares.size(), expected.size());
  for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(shares[i], expected[i], 1e-9) << "claim " << i;
}

TEST(FairShares, TheExampleOfThePaper) {
  ExpectShares(100, {{1, 50, 46}, {1, 10, 18}, {1, 25, 28}, {1, 15, 16}}, {46, 14, 25, 15});
}

TEST(FairShares, EqualClaimsShareEqually) {
  ExpectShares(100, {{1, 0, 500}, {1, 0, 500}, {1, 0, 500}}, {100.0 / 3, 100.0 / 3, 100.0 / 3});
}

TEST(FairShares, WhatOneDoesNotNeedGoesToTheOthersByWeight) {
  ExpectShares(100, {{1, 0, 10}, {1, 0, 500}, {2, 0, 500}}, {10, 30, 60});
}

TEST(FairShares, AMaximumIsALimitToDemandAndComesBeforeTheMinimum) {
  ExpectShares(100, {{1, 0, 500, 20}, {1, 0, 500}}, {20, 80});
  ExpectShares(100, {{1, 60, 500, 20}, {1, 0, 500}}, {20, 80});
}

TEST(FairShares, WithoutScarcityEachGetsItsDemand) {
  ExpectShares(100, {{1, 50, 5}, {3, 0, 7}, {1, 0, 0}}, {5, 7, 0});
  ExpectShares(0, {{1, 50, 5}, {3, 0, 7}}, {0, 0});
  ExpectShares(7, {}, {});
}

TEST(FairShares, MinimaThatDoNotFitAreScaledInProportion) {
  ExpectShares(100, {{1, 150, 500}, {9, 50, 500}, {9, 0, 500}}, {75, 25, 0});
  // What the first cannot use of its minimum is the others'.
  ExpectShares(100, {{1, 100, 10}, {1, 60, 60}, {1, 60, 60}}, {10, 45, 45});
  // Together 200, but no more than 90 can be used: nothing has to be scaled.
  ExpectShares(100, {{1, 140, 30}, {1, 60, 60}, {1, 0, 50}}, {30, 60, 10});
}

// Drop by drop: each goes to the lowest share/weight that still wants it.
Shares PourDrops(double capacity, const std::vector<ShareClaim>& claims, double drop) {
  Shares shares;
  double left = capacity;
  for (const ShareClaim& claim : claims) {
    shares.push_back(std::min({claim.demand, claim.maximum, claim.minimum}));
    left -= shares.back();
  }
  for (; left >= drop; left -= drop) {
    std::size_t lowest = claims.size();
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (shares[i] + drop > std::min(claims[i].demand, claims[i].maximum)) continue;
      if (lowest == claims.size() || shares[i] / claims[i].weight < shares[lowest] / claims[lowest].weight) lowest = i;
    }
    if (lowest == claims.size()) break;
    shares[lowest] += drop;
  }
  return shares;
}

TEST(FairShares, AreWhatDropsOfWaterGive) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr double kDrop = 0.01;
  for (int round = 0; round < 200; ++round) {
    std::vector<ShareClaim> claims;
    double capacity = static_cast<double>(random() % 60);
    for (std::size_t i = 0; i < 1 + random() % 6; ++i) {
      ShareClaim claim{0.5 * static_cast<double>(1 + random() % 6),
                       static_cast<double>(random() % 3 == 0 ? random() % 9 : 0), static_cast<double>(random() % 40)};
      if (random() % 4 == 0) claim.maximum = static_cast<double>(random() % 20);
      capacity += claim.minimum;  // so that the minima fit
      claims.push_back(claim);
    }
    const Shares shares = FairShares(capacity, claims);
    const Shares drops = PourDrops(capacity, claims, kDrop);
    double asked = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      EXPECT_NEAR(shares[i], drops[i], kDrop * 8) << "round " << round << " claim " << i;
      asked += std::min(claims[i].demand, claims[i].maximum);
    }
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), std::min(capacity, asked), 1e-9);
  }
}

}  // namespace
}  // namespace millrace::sched
