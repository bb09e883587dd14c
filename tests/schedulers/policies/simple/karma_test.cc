// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/karma.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/reference.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/simple/reference.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/same_decisions.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

using Slots3 = std::vector<std::uint32_t>;

void Demand(KarmaAccounts* accounts, const Slots3& slots) {
  for (std::uint32_t pool = 0; pool < slots.size(); ++pool) accounts->accounts().at(pool).demand = slots[pool];
}

template <class Field>
std::vector<Field> FieldOf(const KarmaAccounts& accounts, Field KarmaAccounts::Account::*field) {
  std::vector<Field> values;
  for (const auto& [number, account] : accounts.accounts()) values.push_back(account.*field);
  return values;
}

// Three pools, six slots, alpha = 1/2: one slot is a pool's own, and three are shared.
TEST(KarmaAccountsTest, WhoLentMostBorrowsFirst) {
  constexpr auto kGranted = &KarmaAccounts::Account::granted;
  constexpr auto kCredits = &KarmaAccounts::Account::credits;
  KarmaAccounts accounts(0.5, 10);
  for (const std::uint32_t pool : {0, 1, 2}) accounts.Join(pool);
  // Pool 0 borrows the slot that pool 2 lends, and the three shared ones.
  Demand(&accounts, {5, 1, 0});
  accounts.Plan(6);
  EXPECT_EQ(accounts.own(), 1U);
  EXPECT_EQ(FieldOf(accounts, kGranted), (Slots3{5, 1, 0}));
  // Each gets 10 x 3 / 3; pool 0 pays 4 x 10, and pool 2 earns 1 x 10.
  accounts.Settle(10);
  EXPECT_EQ(FieldOf(accounts, kCredits), (std::vector<Micros>{-30, 10, 20}));
  // One each, and of the shared ones: pool 2 with 20, then pools 1 and 2 with 10 each, of which 1 is the first.
  Demand(&accounts, {5, 5, 5});
  accounts.Plan(6);
  EXPECT_EQ(FieldOf(accounts, kGranted), (Slots3{1, 2, 3}));
  // Half a quantum: each gets 5 x 3 / 3 and pays 5 a slot.
  accounts.Settle(5);
  EXPECT_EQ(FieldOf(accounts, kCredits), (std::vector<Micros>{-25, 10, 15}));
  // Pools 0 and 1 could lend one slot each: the poorer earns first.
  Demand(&accounts, {0, 0, 2});
  accounts.Plan(6);
  EXPECT_EQ(FieldOf(accounts, &KarmaAccounts::Account::lent), (Slots3{1, 0, 0}));
  EXPECT_EQ(accounts.issued(), 0);
}

TEST(KarmaAccountsTest, APoolThatJoinsHasTheMeanOfTheOthers) {
  KarmaAccounts accounts(0, 10);
  accounts.Join(0);
  accounts.Join(1);
  Demand(&accounts, {1, 0});
  accounts.Plan(4);
  accounts.Settle(10);  // 20 each, of which pool 0 pays 10
  accounts.Join(2);
  EXPECT_EQ(accounts.accounts().at(2).credits, 15);
  EXPECT_EQ(accounts.issued(), 45);
  accounts.Leave(1);
  EXPECT_EQ(accounts.issued(), 25);
}

std::unique_ptr<Policy> Karma(const KarmaSettings& settings) {
  Settings all;
  all.Of<KarmaSettings>() = settings;
  std::string why;
  return MakePolicy("karma", all, &why);
}

// Two pools, four slots: one is a pool's own, and two are shared. Under fair sharing ann would have two of four slots
// at 100. Now she has credits of 100 and bob, who used the shared ones, 100 - 200.
TEST(KarmaTest, APoolThatUsedLittleGetsMoreLater) {
  Engine engine({}, Karma({0.5, 100, kHour}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=ann maps=1:
    0 JobSubmitted job=job2 user=bob maps=1:;1:;1:;1:;1:;1:;1:;1:
    # Granted: 1 and 1 + 2.
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    100 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
    100 AttemptSucceeded attempt=job2.m.0.0
    100 AttemptSucceeded attempt=job2.m.1.0
    100 AttemptSucceeded attempt=job2.m.2.0
    100 JobSubmitted job=job3 user=ann maps=1:;1:;1:;1:
    # Granted: 1 each; of the shared ones, ann with 100 against -100, then ann with 0 against -100.
    100 decide
    -> launch job3.m.0.0 n1 off
    -> launch job2.m.3.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job3.m.2.0 n1 off
  )");
}

// What nobody is granted is used all the same: at 10 bob's demand was 1, and the next plan is at 100.
TEST(KarmaTest, NoSlotIdlesUntilTheNextPlan) {
  Engine engine({}, Karma({0.5, 100, kHour}));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 JobSubmitted job=job1 user=ann maps=1:
    0 JobSubmitted job=job2 user=bob maps=1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    10 JobSubmitted job=job3 user=bob maps=1:;1:
    10 decide
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
  )");
}

// The sum of the credits is what was issued, and what is borrowed is what is lent, or shared.
TEST(KarmaTest, CreditsSumToWhatWasIssued) {
  for (unsigned round = 0, base = std::random_device()(); round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    const KarmaOrder* order = nullptr;
    HistoryOptions options;
    options.scheduler = "karma with a monitor";
    options.make = [&] {
      auto made = std::make_unique<KarmaOrder>(KarmaSettings{0.25 * (round % 5), 1 + round % 7, 20 * kSecond});
      order = made.get();
      return std::make_unique<Greedy>("karma", std::move(made), Admission());
    };
    History history(base + round, options);
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      history.Step();
      for (const TaskKind kind : kTaskKinds) {
        const KarmaAccounts& accounts = order->accounts(kind);
        Micros credits = 0, lent = 0, borrowed = 0;
        for (const auto& [number, account] : accounts.accounts()) {
          credits += account.credits, lent += account.lent, borrowed += account.borrowed;
          EXPECT_LE(account.granted, std::max(account.demand, accounts.own()));
        }
        EXPECT_EQ(credits, accounts.issued());
        EXPECT_GE(borrowed, lent);
      }
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(KarmaTwins, DecideTheSame) {
  const char* const many = std::getenv("MILLRACE_HISTORIES");
  const unsigned rounds = many == nullptr ? 200 : static_cast<unsigned>(std::stoul(many));
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed - first < rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HistoryOptions options;
    const bool ccs = seed % 2 == 1;
    const KarmaSettings settings{0.25 * (seed % 5), seed % 3 == 0 ? 2 : kSecond, (1 + seed % 20) * kSecond};
    options.scheduler = ccs ? "karma+ccs" : "karma";
    options.settings.Of<KarmaSettings>() = settings;
    History history(seed, options);
    for (int step = 0; step < 400 && !HasFailure(); ++step) history.Step();
    ASSERT_FALSE(HasFailure());
    std::unique_ptr<CopyGate> gate;
    if (ccs) gate = std::make_unique<CopyComputeSplitting>(options.settings.Of<CcsSettings>());
    const KarmaReference::Terms terms{settings.alpha, settings.quantum, settings.forget};
    auto order = std::make_unique<KarmaReference>(terms, ccs ? kComputePermit : kReduceSlot);
    auto reference = std::make_unique<GreedyReference>(std::move(order), Admission(nullptr, std::move(gate)));
    ExpectSameDecisions(history.records(), MakePolicyOf(options), std::move(reference));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace millrace::sched
