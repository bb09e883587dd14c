// SPDX-License-Identifier: Apache-2.0
// Intervals: their coverage on errors of several shapes, their own record, and that they survive a store.
#include "schedulers/forecast/intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

namespace millrace::sched {
namespace {

ForetoldRecord RecordOf(Micros predicted, Micros actual, std::uint64_t scheduler = 1) {
  ForetoldRecord record;
  record.what = Foretold::kEndOfRunning;
  record.predicted = predicted;
  record.actual = actual;
  record.program = 7;
  record.scheduler = scheduler;
  return record;
}

ForetoldRecord StartIn(Micros predicted) {
  ForetoldRecord record = RecordOf(predicted, 0);
  record.what = Foretold::kStart;
  return record;
}

// Adds the record as one of a statement that was made with these intervals.
void Judge(Intervals* intervals, ForetoldRecord record) {
  const Spread spread = intervals->Around(record);
  for (std::size_t i = 0; i < spread.intervals.size(); ++i)
    record.held[i] = spread.intervals[i].lo <= record.actual && record.actual <= spread.intervals[i].hi;
  intervals->Add(record);
}

TEST(Intervals, AreThereFromTwentyRecordsOn) {
  Intervals intervals;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Spread spread = intervals.Around(RecordOf(60 * kSecond, 0, 1));
    EXPECT_EQ(spread.records, i);
    EXPECT_EQ(spread.intervals.empty(), i < Intervals::kLeast);
    intervals.Add(RecordOf(60 * kSecond, 70 * kSecond));
  }
  EXPECT_EQ(intervals.Around(StartIn(60 * kSecond)).records, 0U) << "the kinds share nothing";
  // All were late by the same factor.
  for (const Interval& interval : intervals.Around(RecordOf(60 * kSecond, 0, 1)).intervals) {
    EXPECT_NEAR(static_cast<double>(interval.lo), 70e6, 2e3);
    EXPECT_NEAR(static_cast<double>(interval.hi), 70e6, 2e3);
  }
}

// Whatever the errors are like, as many outcomes lie in the intervals as their levels say.
TEST(Intervals, HoldAsOftenAsTheySay) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    std::mt19937_64 random(base + round);
    std::normal_distribution<double> normal;
    std::exponential_distribution<double> exponential;
    Intervals intervals;
    std::array<int, kLevels.size()> held = {};
    int stated = 0;
    for (int i = 0; i < 4000; ++i) {
      const auto predicted = static_cast<Micros>(std::exp(10 + 3 * normal(random)) * 1e4);
      // Biased, skewed, worse for long predictions, and worse from the middle on.
      double error = 0.3 + 0.2 * normal(random);
      if (round % 4 == 1) error = exponential(random) - 0.5;
      if (round % 4 == 2) error = normal(random) * (predicted > 300 * kSecond ? 0.8 : 0.1);
      if (round % 4 == 3) error = normal(random) * (i < 2000 ? 0.2 : 0.9);
      const auto actual = static_cast<Micros>(static_cast<double>(predicted) * std::exp(error));
      ForetoldRecord record = RecordOf(predicted, actual);
      const Spread spread = intervals.Around(record);
      for (std::size_t l = 0; l < spread.intervals.size(); ++l)
        held[l] += spread.intervals[l].lo <= actual && actual <= spread.intervals[l].hi ? 1 : 0;
      stated += spread.intervals.empty() ? 0 : 1;
      Judge(&intervals, record);
    }
    for (std::size_t l = 0; l < kLevels.size(); ++l) EXPECT_NEAR(100.0 * held[l] / stated, kLevels[l], 3) << kLevels[l];
  }
}

TEST(Intervals, GoByTheirOwnSchedulerAndTellWhenTheyCannot) {
  Intervals intervals;
  for (int i = 0; i < 200; ++i) intervals.Add(RecordOf(100 * kSecond, 200 * kSecond, 1));
  const Spread other = intervals.Around(RecordOf(100 * kSecond, 0, 2));
  EXPECT_EQ(other.elsewhere, other.records) << "nothing else is known yet";
  for (int i = 0; i < 100; ++i) intervals.Add(RecordOf(100 * kSecond, 100 * kSecond, 2));
  const Spread own = intervals.Around(RecordOf(100 * kSecond, 0, 2));
  EXPECT_EQ(own.elsewhere, 0U);
  EXPECT_NEAR(static_cast<double>(own.intervals[kShownLevel].hi), 100e6, 2e3);
}

TEST(Intervals, AnOvertakenStatementCountsInTheRecordAlone) {
  Intervals intervals;
  for (int i = 0; i < 60; ++i) Judge(&intervals, RecordOf(100 * kSecond, 100 * kSecond));
  const Spread before = intervals.Around(RecordOf(100 * kSecond, 0, 1));
  const OwnRecord own = intervals.Own(Foretold::kEndOfRunning);
  EXPECT_EQ(own.stated, 40U);
  EXPECT_EQ(own.held, 40U);
  ForetoldRecord late = RecordOf(100 * kSecond, 900 * kSecond);
  late.overtaken = true;
  late.held = {false, false, false};
  intervals.Add(late);
  EXPECT_EQ(intervals.Around(RecordOf(100 * kSecond, 0, 1)), before);
  EXPECT_EQ(intervals.Own(Foretold::kEndOfRunning), (OwnRecord{41, 40}));
}

TEST(Intervals, SurviveAStore) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Intervals intervals;
  std::map<std::string, std::string> store;
  for (int i = 0; i < 3000; ++i) {
    ForetoldRecord record = RecordOf(static_cast<Micros>(random() % 1000) * kSecond,
                                     static_cast<Micros>(random() % 1000) * kSecond, random() % 3);
    record.what = kForetold[random() % kForetold.size()];
    record.overtaken = random() % 20 == 0;
    record.first = random() % 2 == 0;
    Judge(&intervals, record);
    const auto stored = intervals.LastStored(record.what, 1);
    ASSERT_EQ(stored.size(), 1U);
    store[stored[0].key] = stored[0].value;
  }
  EXPECT_LE(store.size(), kForetold.size() * Intervals::kKept);
  Intervals again;
  for (const auto& [key, value] : store) EXPECT_TRUE(again.Restore(key, value)) << key << ": " << value;
  again.Restored();
  for (const Foretold what : kForetold) {
    EXPECT_EQ(again.Own(what), intervals.Own(what));
    for (const Micros predicted : {0 * kSecond, 30 * kSecond, 700 * kSecond}) {
      ForetoldRecord asked = RecordOf(predicted, 0);
      asked.what = what;
      const Spread a = again.Around(asked), b = intervals.Around(asked);
      EXPECT_EQ(a.records, b.records);
      EXPECT_EQ(a.intervals, b.intervals);
    }
  }
}

TEST(Intervals, TakeNothingFromAStoreThatIsWrong) {
  Intervals intervals;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"0", "1 2 3 4 5 0 1 500000 200000 100000 ---"},
                                                        {"3/1", "1 2 3 4 5 0 1 500000 200000 100000 ---"},
                                                        {"0/2", "1 2 3 4 5 0 1 500000 200000 100000 ---"},
                                                        {"0/1", "1 -2 3 4 5 0 1 500000 200000 100000 ---"},
                                                        {"0/1", "1 2 3 4 5 2 1 500000 200000 100000 ---"},
                                                        {"0/1", "1 2 3 4 5 0 1 5000000 200000 100000 ---"},
                                                        {"0/1", "1 2 3 4 5 0 1 500000 200000 100000 --"},
                                                        {"0/1", "1 2 3 4 5 0 1 500000 200000 100000 --x"},
                                                        {"0/1", "1 2 3 4 5 0 1 500000 200000 100000 ---y"}}) {
    EXPECT_FALSE(intervals.Restore(key, value)) << key << ": " << value;
  }
  EXPECT_TRUE(intervals.Restore("0/1", "1 2 3 4 5 0 1 500000 200000 100000 ---"));
}

}  // namespace
}  // namespace millrace::sched
