// SPDX-License-Identifier: Apache-2.0
// Algorithm 3 by hand.
#include "schedulers/policies/fresh/expected_map_slots.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace::sched {
namespace {

constexpr double kTauProgress = 0.8, kTauChange = 0.6;

struct Row {
  const char* name;
  PhaseOutlook outlook;
  double expected;
};

const Row kRows[] = {
    // In proportion to the work left.
    {"maps and reduces", {.map_work = 30, .reduce_work = 10, .slots = 40, .map_jobs = 2, .progress = 0.79}, 30},
    {"maps alone", {.map_work = 30, .slots = 40, .map_jobs = 2, .progress = 0.79}, 40},
    {"no work", {.slots = 40, .map_jobs = 2, .progress = 0.79}, 0},
    {"reduces alone", {.reduce_work = 5, .slots = 40, .progress = 0.79}, 0},

    // A sudden change is met before it comes, but not before tau_1. Maps fill the cluster; a ends soon and brings a
    // mountain of reduces: RW'_m = 100 - 2*10 + 20 = 100, RW'_r = 0 + 300, theta_exp = 1/4. s'_m = 40 + 1*0 is 1.0 S,
    // off by 3 times theta_exp.
    {"a sudden change",
     {.map_work = 100,
      .slots = 40,
      .map_slots = 40,
      .map_jobs = 2,
      .progress = 0.8,
      .first_map_work = 10,
      .first_reduce_work = 300,
      .next_map_work = 20},
     10},
    {"a sudden change, too early to tell",
     {.map_work = 100,
      .slots = 40,
      .map_slots = 40,
      .map_jobs = 2,
      .progress = 0.7999,
      .first_map_work = 10,
      .first_reduce_work = 300,
      .next_map_work = 20},
     40},

    // Nothing left to map is no division by zero. RW'_m = max(0, 100 - 4*30) + 0 = 0, so theta_exp = 0: anything above
    // it is sudden.
    {"nothing left to map",
     {.map_work = 100,
      .reduce_work = 100,
      .slots = 40,
      .map_slots = 10,
      .map_jobs = 4,
      .progress = 1,
      .first_map_work = 30,
      .first_reduce_work = 5},
     0},
    {"nothing left at all", {.slots = 40, .map_slots = 10, .map_jobs = 4, .progress = 1, .first_map_work = 30}, 0},

    // A small change stays with theta_cur: RW' = (100 - 2*2 + 0, 100 + 4), theta_exp = 0.48, s'_m/S = 0.5.
    {"a small change",
     {.map_work = 100,
      .reduce_work = 100,
      .slots = 40,
      .map_slots = 20,
      .map_jobs = 2,
      .progress = 0.9,
      .first_map_work = 2,
      .first_reduce_work = 4},
     20},

    // The slots that come free count. RW'_m = 500 - 320 + 250 = 430 and RW'_r = 500, so theta_exp = 0.462. As long as r
    // is unknown nothing comes free, and s'_m/S = 0.1 is sudden. With r = 2 c is 1/8, x = (sqrt(16 + 160) - 4)/(1/4) =
    // 37.07 and eta = 18.5; half of these turn to maps, and s'_m/S = 0.33 is not sudden.
    {"no slots come free",
     {.map_work = 500,
      .reduce_work = 500,
      .slots = 40,
      .map_slots = 4,
      .map_jobs = 1,
      .progress = 0.9,
      .first_map_work = 320,
      .first_slots = 4,
      .next_map_work = 250},
     40 * 430 / 930.0},
    {"slots come free",
     {.map_work = 500,
      .reduce_work = 500,
      .slots = 40,
      .map_slots = 4,
      .map_jobs = 1,
      .progress = 0.9,
      .first_map_work = 320,
      .first_slots = 4,
      .next_map_work = 250,
      .reduce_interval = 2},
     20},
};

TEST(ExpectedMapSlotsTest, ByHand) {
  for (const Row& row : kRows) {
    EXPECT_DOUBLE_EQ(ExpectedMapSlots(row.outlook, kTauProgress, kTauChange), row.expected) << row.name;
  }
}

// The proof of Theorem 1: x solves x = w / (x theta/(2 r k) + m_a), and eta = x / r. With theta = 1/2, r = 2, k = 1 c
// is 1/8, and with w = 48, m_a = 4 the root is (sqrt(16 + 24) - 4) / (1/4) = 9.298.
struct TheoremRow {
  const char* name;
  PhaseOutlook outlook;
  double theta;
  double eta;
  double tolerance;
};

const TheoremRow kTheoremRows[] = {
    {"the root",
     {.slots = 1000, .map_jobs = 1, .first_map_work = 48, .first_slots = 4, .reduce_interval = 2},
     0.5,
     (std::sqrt(40) - 4) / 0.25 / 2,
     5e-10},
    {"the limit for theta to 0",
     {.slots = 1000, .map_jobs = 1, .first_map_work = 48, .first_slots = 4, .reduce_interval = 2},
     0,
     48 / 4 / 2.0,
     0},
    {"close to the limit",
     {.slots = 1000, .map_jobs = 1, .first_map_work = 48, .first_slots = 4, .reduce_interval = 2},
     1e-9,
     6,
     1e-6},
    {"a holds no slot", {.slots = 1000, .map_jobs = 1, .first_map_work = 48, .reduce_interval = 2}, 0, 0, 0},
    {"no reduces end", {.slots = 1000, .map_jobs = 1, .first_map_work = 48}, 0.5, 0, 0},
};

TEST(ExpectedMapSlotsTest, TheoremOne) {
  for (const TheoremRow& row : kTheoremRows) {
    EXPECT_NEAR(FreedReduceSlots(row.outlook, row.theta), row.eta, row.tolerance) << row.name;
  }
  const double x = FreedReduceSlots(kTheoremRows[0].outlook, 0.5) * 2;
  EXPECT_NEAR(x, 48 / (x * 0.5 / (2 * 2 * 1) + 4), 1e-9);
}

}  // namespace
}  // namespace millrace::sched
