// SPDX-License-Identifier: Apache-2.0
// Plays random histories: the rules of the engine hold throughout, every job ends, and a recorded history gives the
// same state.
#include "tests/schedulers/history.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "schedulers/core/policy.h"
#include "schedulers/events/event_text.h"
#include "tests/schedulers/dump.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Idle : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "idle"; }
  std::optional<AttemptId> NextToCompute(const ClusterState&, Micros) override { return std::nullopt; }
  std::optional<Decision> Next(const ClusterState&, Micros) override { return std::nullopt; }
};

// Applies the records, as text, to a fresh engine with another policy, which decides nothing.
std::string Replay(const std::vector<History::Record>& records) {
  Engine engine(HistoryOptions().engine, std::make_unique<Idle>());
  for (const History::Record& record : records) {
    Effects effects;
    if (record.line == History::kDecide) {
      engine.Decide(record.time, &effects);  // what waited for this time waits no more
      continue;
    }
    const auto timed = ParseEvent(record.line);
    if (!timed) return "not an event: " + record.line;
    if (engine.Apply(timed->time, timed->event, &effects) != record.accepted)
      return "answered otherwise: " + record.line;
    std::vector<std::string> texts;
    for (const Effect& effect : effects) texts.push_back(FormatEffect(effect));
    if (texts != record.effects) return "other effects: " + record.line;
  }
  return Dump(engine.state());
}

TEST(History, KeepsTheRulesEndsAllJobsAndReplaysToTheSameState) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 150; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    History history(base + round);
    for (int step = 0; step < 400 && !HasFailure(); ++step) {
      history.Step();
      history.CheckState();
    }
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(Replay(history.records()), Dump(history.engine().state()));
    history.FinishAll();
    history.CheckState();
    EXPECT_EQ(Replay(history.records()), Dump(history.engine().state()));
    ASSERT_FALSE(HasFailure());
  }
}

// The histories above are only worth something if they exercise the rules.
TEST(History, ReachesEveryKindOfEffectAndEvent) {
  std::map<std::string, int> seen;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    History history(seed);
    for (int step = 0; step < 400; ++step) history.Step();
    for (const History::Record& record : history.records()) {
      if (record.line == History::kDecide) continue;
      const std::string kind = record.line.substr(record.line.find(' ') + 1);
      ++seen[kind.substr(0, kind.find(' ')) + (record.accepted ? "" : " refused")];
      for (const std::string& effect : record.effects) {
        ++seen[effect.substr(0, effect.find(' '))];
        for (const char* outcome : {" succeeded", " failed", " killed"}) {
          if (effect.starts_with("ended") && effect.find(outcome) != std::string::npos) ++seen[outcome];
        }
      }
    }
  }
  for (const char* kind : {"NodeJoined",
                           "NodeLost",
                           "NodeDrained",
                           "JobSubmitted",
                           "JobKilled",
                           "JobPrioritySet",
                           "JobHeld",
                           "JobHeld refused",
                           "AttemptLaunched",
                           "AttemptSucceeded",
                           "AttemptFailed",
                           "AttemptLost",
                           "FetchFailed",
                           "ReplicasMoved",
                           "ReduceComputing",
                           "ReduceCopied",
                           "ComputeGranted",
                           "AttemptProgressed",
                           "BandwidthMeasured",
                           "NodeSpace",
                           "AttemptSucceeded refused",
                           "AttemptLaunched refused",
                           "kill",
                           "ready",
                           "gone",
                           "left",
                           "blame",
                           " succeeded",
                           " failed",
                           " killed"}) {
    EXPECT_GT(seen[kind], 10) << kind;
  }
}

}  // namespace
}  // namespace millrace::sched
