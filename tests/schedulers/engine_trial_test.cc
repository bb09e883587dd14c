// SPDX-License-Identifier: Apache-2.0
// Trials of an engine: a copy decides as its original does, a view changes nothing, and only so many ends of tasks are
// tried.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/dump.h"
#include "tests/schedulers/every_scheduler.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

HistoryOptions OptionsOf(const std::string& scheduler, unsigned round) {
  HistoryOptions options;
  options.scheduler = scheduler;
  options.conserving = false;
  options.settings.Named<PoolSettings>()["pool0"].weight = 3;
  options.settings.Named<PoolSettings>()["pool1"].min_maps = 2;
  options.settings.Named<PoolSettings>()["pool1"].max_running_jobs = 2;
  options.settings.Of<FairSettings>().min_share_timeout = 1 * kSecond;
  options.settings.Of<FairSettings>().fair_share_timeout = 2 * kSecond;
  options.settings.Of<FairSettings>().preempt_within_pools = round % 2 == 1;
  options.settings.Of<CpSettings>().evaluations = 50;
  options.settings.Of<SpeculationSettings>().enabled = round % 4 == 3;
  options.settings.Of<SpeculationSettings>().min_runtime = 1;
  return options;
}

// Returns the engine's effects of the record, and its own decisions. The records of what was decided are passed over:
// each engine makes its own decisions.
std::string Feed(Engine* engine, const History::Record& record) {
  Effects effects;
  std::string said;
  if (record.line == History::kDecide) {
    engine->Decide(record.time, &effects);
    for (const Effect& effect : effects) {
      if (const auto decision = DecisionOf(effect)) said += FormatEvent(record.time, *decision) + '\n';
    }
    return said + "wake " + std::to_string(engine->NextWake().value_or(-1)) + '\n';
  }
  const auto timed = ParseEvent(record.line);
  said = engine->Apply(timed->time, timed->event, &effects) ? "fits" : "does not fit";
  return said + ' ' + std::to_string(effects.size()) + '\n';
}

// Returns the events and calls of Decide, without what follows a Decide as decided.
std::vector<History::Record> WithoutDecisions(const std::vector<History::Record>& records) {
  std::vector<History::Record> kept;
  for (const History::Record& record : records) {
    const auto timed = record.line == History::kDecide ? std::nullopt : ParseEvent(record.line);
    const bool decided =
        timed && (std::holds_alternative<AttemptLaunched>(timed->event) ||
                  std::holds_alternative<ComputeGranted>(timed->event) ||
                  std::holds_alternative<AttemptPreempted>(timed->event) ||
                  std::holds_alternative<JobEvicted>(timed->event) || std::holds_alternative<JobGivenUp>(timed->event));
    if (!decided) kept.push_back(record);
  }
  return kept;
}

class TrialOf : public testing::TestWithParam<std::string> {
 protected:
  // Plays histories of `steps` events, each with its own seed, and hands their records to check(records, options).
  template <class Check>
  void ForHistories(int histories, int steps, const Check& check) {
    const unsigned base = std::random_device()();
    for (int round = 0; round < histories && !HasFailure(); ++round) {
      const unsigned seed = base + static_cast<unsigned>(round);
      SCOPED_TRACE("seed " + std::to_string(seed));
      const HistoryOptions options = OptionsOf(GetParam(), seed);
      History history(seed, options);
      for (int step = 0; step < steps; ++step) history.Step();
      check(WithoutDecisions(history.records()), options);
    }
  }
};

TEST_P(TrialOf, ACopyDecidesAsTheOriginalDoes) {
  ForHistories(12, 250, [](const std::vector<History::Record>& records, const HistoryOptions& options) {
    Engine engine(options.engine, MakePolicyOf(options));
    constexpr std::size_t kTogether = 6;  // records after which, at the end of a round, the copy is made again
    for (std::size_t begin = 0, end = 0; begin < records.size(); begin = end) {
      end = std::min(begin + kTogether, records.size());
      while (end < records.size() && records[end - 1].line != History::kDecide) ++end;
      std::string copied, original;
      {
        const std::unique_ptr<Engine> copy = engine.Clone();
        ASSERT_NE(copy, nullptr);
        ASSERT_EQ(Dump(copy->state()), Dump(engine.state()));
        const std::string before = Dump(engine.state());
        for (std::size_t i = begin; i < end; ++i) copied += Feed(copy.get(), records[i]);
        copied += Dump(copy->state());
        ASSERT_EQ(Dump(engine.state()), before) << "the copy changes its original";
      }
      for (std::size_t i = begin; i < end; ++i) original += Feed(&engine, records[i]);
      ASSERT_EQ(copied, original + Dump(engine.state()));
    }
  });
}

TEST_P(TrialOf, ADetachedCopyOutlivesItsOriginal) {
  ForHistories(6, 250, [](const std::vector<History::Record>& records, const HistoryOptions& options) {
    Engine plain(options.engine, MakePolicyOf(options));
    auto engine = std::make_unique<Engine>(options.engine, MakePolicyOf(options));
    std::size_t half = records.size() / 2;
    while (half < records.size() && records[half - 1].line != History::kDecide) ++half;
    for (std::size_t i = 0; i < half; ++i) ASSERT_EQ(Feed(engine.get(), records[i]), Feed(&plain, records[i]));
    const std::unique_ptr<Engine> copy = engine->Detach();
    ASSERT_NE(copy, nullptr);
    engine.reset();
    for (std::size_t i = half; i < records.size(); ++i)
      ASSERT_EQ(Feed(copy.get(), records[i]), Feed(&plain, records[i]));
    ASSERT_EQ(Dump(copy->state()), Dump(plain.state()));
  });
}

TEST_P(TrialOf, AViewChangesNothing) {
  ForHistories(8, 250, [](const std::vector<History::Record>& records, const HistoryOptions& options) {
    Engine plain(options.engine, MakePolicyOf(options));
    Engine looked_at(options.engine, MakePolicyOf(options));
    for (const History::Record& record : records) {
      (void)looked_at.View(record.time);
      ASSERT_EQ(Feed(&looked_at, record), Feed(&plain, record)) << record.line;
      (void)looked_at.View(record.time);
    }
    ASSERT_EQ(Dump(looked_at.state()), Dump(plain.state()));
  });
}

INSTANTIATE_TEST_SUITE_P(Schedulers, TrialOf, testing::ValuesIn(EverySchedulerByName()), [](const auto& of) {
  std::string name = of.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

// Two nodes of three map slots, which job1 has; job2 waits.
constexpr std::string_view kSixSlots = R"(
  0 NodeJoined node=n1 maps=3
  0 NodeJoined node=n2 maps=3
  1 JobSubmitted job=job1 name=logs maps=1:;1:;1:;1:;1:;1:;1:;1:
  1 decide
  2 JobSubmitted job=job2 priority=VERY_HIGH maps=1:
  2 decide
)";

std::string WhyJob2Waits(const EngineOptions& options) {
  std::string why;
  Engine engine(options, MakePolicy("fifo", {}, &why));
  Play(&engine, kSixSlots);
  const PolicyView view = engine.View(3);
  for (const WaitView& wait : view.waits) {
    if (wait.job == JobId{2}) return InWords(wait, engine.state(), 3, view.group_noun);
  }
  return "nothing is said";
}

TEST(TrialLimits, WhatWasNotTriedIsNotKnown) {
  EngineOptions options;
  EXPECT_EQ(WhyJob2Waits(options), "all 6 map slots are busy; the next to become free is offered to it first");
  options.trials.trials = 1;  // a trial stands for the three maps of job1 on a node
  EXPECT_EQ(WhyJob2Waits(options),
            "all 6 map slots are busy; it is first in order now; of the 6, 3 were tried, and it would get each");
  options.trials = {.trials = 64, .cost = 5};  // two jobs, two nodes and job1's eight maps cost more
  EXPECT_EQ(WhyJob2Waits(options), "all 6 map slots are busy; it is first in order now");
}

}  // namespace
}  // namespace millrace::sched
