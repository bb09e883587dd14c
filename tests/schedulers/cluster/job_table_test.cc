// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/job_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

namespace millrace::sched {
namespace {

using Entries = std::vector<std::pair<std::uint32_t, int>>;

template <typename Table>
Entries EntriesOf(Table& table) {
  Entries entries;
  table.ForEach([&](JobId job, const int& value) { entries.emplace_back(job.value, value); });
  return entries;
}

TEST(JobTable, HoldsWhatAMapWouldHold) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  JobTable<int> table;
  std::map<std::uint32_t, int> model;
  for (int step = 1; step <= 3000; ++step) {
    const JobId job{static_cast<std::uint32_t>(random() % 300)};
    if (random() % 3 != 0) {
      table[job] = step;
      model[job.value] = step;
    } else {
      table.Erase(job);
      model.erase(job.value);
    }
    EXPECT_EQ(table.Contains(job), model.contains(job.value));
    EXPECT_EQ(table.Find(job) != nullptr, model.contains(job.value));
  }
  const JobTable<int> copy = table;
  EXPECT_EQ(EntriesOf(table), Entries(model.begin(), model.end()));
  EXPECT_EQ(EntriesOf(copy), Entries(model.begin(), model.end()));
}

TEST(JobTable, AnErasedEntryComesBackAsNew) {
  JobTable<int> table;
  table[JobId{5}] = 1;
  table[JobId{6}] = 2;
  table.Erase(JobId{5});
  EXPECT_EQ(table[JobId{5}], 0);
  EXPECT_EQ(table.At(JobId{6}), 2);
}

TEST(JobTable, AnEntryKeepsItsAddressWhileOthersCome) {
  JobTable<std::unique_ptr<int>> table;
  const auto* const first = &table[JobId{1}];
  for (std::uint32_t job = 2; job < 5000; ++job) table[JobId{job}] = std::make_unique<int>(1);
  EXPECT_EQ(table.Find(JobId{1}), first);
}

// Counts the objects that there are.
struct Counted {
  static inline int alive = 0;
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};

TEST(JobTable, AGapOfAMillionNumbersHoldsNoEntries) {
  JobTable<Counted> table;
  (void)table[JobId{1}];
  (void)table[JobId{1'000'000}];
  EXPECT_LE(Counted::alive, 200);
}

TEST(JobTable, WhatIsErasedLeavesNothing) {
  JobTable<Counted> table;
  for (std::uint32_t job = 0; job < 10'000; ++job) (void)table[JobId{job}];
  for (std::uint32_t job = 0; job < 10'000; ++job) table.Erase(JobId{job});
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace millrace::sched
