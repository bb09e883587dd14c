// Algorithm 3 by hand.
#include "schedulers/policies/fresh/expected_map_slots.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace::sched {
namespace {

constexpr double kTauProgress = 0.8, kTauChange = 0.6;

double Expected(const PhaseOutlook& outlook) { return ExpectedMapSlots(outlook, kTauProgress, kTauChange); }

TEST(ExpectedMapSlotsTest, InProportionToTheWorkLeft) {
  PhaseOutlook outlook;
  outlook.slots = 40;
  outlook.map_work = 30;
  outlook.reduce_work = 10;
  outlook.map_jobs = 2;
  outlook.progress = 0.79;
  EXPECT_DOUBLE_EQ(Expected(outlook), 30);
  outlook.reduce_work = 0;
  EXPECT_DOUBLE_EQ(Expected(outlook), 40);
  outlook.map_work = 0;
  EXPECT_DOUBLE_EQ(Expected(outlook), 0);
  outlook.reduce_work = 5;
  outlook.map_jobs = 0;
  EXPECT_DOUBLE_EQ(Expected(outlook), 0);
}

// Maps fill the cluster; a ends soon and brings a mountain of reduces: RW'_m = 100 - 2*10 + 20 = 100, RW'_r = 0 + 300,
// theta_exp = 1/4. s'_m = 40 + 1*0 is 1.0 S, off by 3 times theta_exp.
TEST(ExpectedMapSlotsTest, ASuddenChangeIsMetBeforeItComes) {
  PhaseOutlook outlook;
  outlook.slots = 40;
  outlook.map_slots = 40;
  outlook.map_work = 100;
  outlook.map_jobs = 2;
  outlook.progress = 0.8;
  outlook.first_map_work = 10;
  outlook.first_reduce_work = 300;
  outlook.next_map_work = 20;
  EXPECT_DOUBLE_EQ(Expected(outlook), 10);
  outlook.progress = 0.7999;
  EXPECT_DOUBLE_EQ(Expected(outlook), 40);
}

// RW'_m = max(0, 100 - 4*30) + 0 = 0, so theta_exp = 0: anything above it is sudden.
TEST(ExpectedMapSlotsTest, NothingLeftToMapIsNoDivisionByZero) {
  PhaseOutlook outlook;
  outlook.slots = 40;
  outlook.map_slots = 10;
  outlook.map_work = 100;
  outlook.reduce_work = 100;
  outlook.map_jobs = 4;
  outlook.progress = 1;
  outlook.first_map_work = 30;
  outlook.first_reduce_work = 5;
  EXPECT_DOUBLE_EQ(Expected(outlook), 0);
  outlook.map_work = outlook.reduce_work = outlook.first_reduce_work = 0;
  EXPECT_DOUBLE_EQ(Expected(outlook), 0);
}

// A small change stays with theta_cur: RW' = (100 - 2*2 + 0, 100 + 4), theta_exp = 0.48, s'_m/S = 0.5.
TEST(ExpectedMapSlotsTest, ASmallChangeIsNone) {
  PhaseOutlook outlook;
  outlook.slots = 40;
  outlook.map_slots = 20;
  outlook.map_work = 100;
  outlook.reduce_work = 100;
  outlook.map_jobs = 2;
  outlook.progress = 0.9;
  outlook.first_map_work = 2;
  outlook.first_reduce_work = 4;
  EXPECT_DOUBLE_EQ(Expected(outlook), 20);
}

// The proof of Theorem 1: x solves x = w / (x theta/(2 r k) + m_a), and eta = x / r. With theta = 1/2, r = 2, k = 1 c
// is 1/8, and with w = 48, m_a = 4 the root is (sqrt(16 + 24) - 4) / (1/4) = 9.298.
TEST(ExpectedMapSlotsTest, TheoremOne) {
  PhaseOutlook outlook;
  outlook.slots = 1000;
  outlook.map_jobs = 1;
  outlook.first_map_work = 48;
  outlook.first_slots = 4;
  outlook.reduce_interval = 2;
  const double eta = FreedReduceSlots(outlook, 0.5);
  const double x = eta * 2;
  EXPECT_NEAR(x, 48 / (x * 0.5 / (2 * 2 * 1) + 4), 1e-9);
  EXPECT_NEAR(x, (std::sqrt(40) - 4) / 0.25, 1e-9);
  EXPECT_DOUBLE_EQ(FreedReduceSlots(outlook, 0), 48 / 4 / 2.0);  // the limit for theta to 0
  EXPECT_NEAR(FreedReduceSlots(outlook, 1e-9), 6, 1e-6);
  outlook.first_slots = 0;
  EXPECT_DOUBLE_EQ(FreedReduceSlots(outlook, 0), 0);
  outlook.reduce_interval = 0;
  EXPECT_DOUBLE_EQ(FreedReduceSlots(outlook, 0.5), 0);
}

// The slots that come free count: without them s'_m/S = 0.1 is sudden against theta_exp = 0.462; with 18.5 of them,
// half of which turn to maps, it is 0.33 and is not.
TEST(ExpectedMapSlotsTest, FreedSlotsAreLookedAheadTo) {
  PhaseOutlook outlook;
  outlook.slots = 40;
  outlook.map_slots = 4;
  outlook.map_work = 500;
  outlook.reduce_work = 500;
  outlook.map_jobs = 1;
  outlook.progress = 0.9;
  outlook.next_map_work = 250;
  outlook.first_map_work = 320;   // RW'_m = 180 + 250 = 430
  outlook.first_reduce_work = 0;  // RW'_r = 500: theta_exp = 0.462
  outlook.first_slots = 4;
  EXPECT_NEAR(Expected(outlook), 40 * 430 / 930.0, 1e-9);  // r unknown: nothing comes free
  outlook.reduce_interval = 2;  // c = 1/8: x = (sqrt(16 + 160) - 4)/(1/4) = 37.07, eta = 18.5, s'_m = 13.3
  EXPECT_DOUBLE_EQ(Expected(outlook), 20);
}

}  // namespace
}  // namespace millrace::sched
