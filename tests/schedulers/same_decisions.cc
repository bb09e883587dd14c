// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/same_decisions.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"

namespace millrace::sched {
namespace {

std::vector<std::string> Decide(Engine* engine, Micros now) {
  Effects effects;
  engine->Decide(now, &effects);
  std::vector<std::string> lines;
  for (const Effect& effect : effects) {
    if (const auto decision = DecisionOf(effect)) lines.push_back(FormatEvent(now, *decision));
  }
  return lines;
}

}  // namespace

void ExpectSameDecisions(const std::vector<History::Record>& records, std::unique_ptr<Policy> policy,
                         std::unique_ptr<Policy> reference) {
  Engine engine({}, std::move(policy)), other({}, std::move(reference));
  std::size_t decided = 0;  // records to come that were decided
  for (const History::Record& record : records) {
    if (record.line == History::kDecide) {
      const auto lines = Decide(&engine, record.time);
      ASSERT_EQ(lines, Decide(&other, record.time)) << "(the second: the reference)";
      decided = lines.size();
    } else if (decided > 0) {
      --decided;
    } else {
      const auto timed = ParseEvent(record.line);
      Effects effects;
      (void)engine.Apply(timed->time, timed->event, &effects);
      (void)other.Apply(timed->time, timed->event, &effects);
    }
  }
}

}  // namespace millrace::sched
