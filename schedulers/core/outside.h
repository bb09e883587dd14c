// SPDX-License-Identifier: Apache-2.0
// Outside: the side of a policy that takes orders from a program outside of the engine (policies/external). The engine
// stays pure: it talks to nobody. When the policy has a question, the driver (the simulator, the master) describes the
// state to the program, waits for the program's answer in its own way, and has the engine apply the answer as an event
// (PolicyAnswered). The answer is in the journal like any other event, so recovery and replays need no program.
//
//   engine.Decide(now, &effects);
//   while (outside->open()) {                                          // Engine::outside()
//     send outside->Describe(...) to the program; text = its answer
//     if (outside->Misread(text) is not empty) the driver has another scheduler take over (SchedulerSet)
//     engine.Apply(now, PolicyAnswered{*outside->open(), text}, &effects); engine.Decide(now, &effects);
//   }
//
// docs/schedulers/external.md has the lines of both directions. Thread rule: that of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids/time.h"
#include "schedulers/events/slot_kind.h"

namespace millrace::sched {

class ClusterState;

// OutsideTerms: which program is asked, and how. A driver keeps them; the policy itself goes by `kind`, `interval`,
// `limit` and `fallback`.
struct OutsideTerms {
  // A ranking is an order of the jobs, which holds until the next one: nobody waits for the program. With an assignment
  // no slot is filled before the program has answered for it, or until `limit` has passed.
  enum class Kind : std::uint8_t { kRanking, kAssignment };

  std::string program;  // path; empty: there is none, and the fallback's order decides
  Kind kind = Kind::kRanking;
  std::string fallback = "fair";         // orders the jobs that the program has not named, and takes over from it
  Micros interval = 500 * kMillisecond;  // a ranking is asked for at most once in this time
  Micros limit = 10 * kMillisecond;      // for an assignment; then the fallback fills the slot
  Micros patience = 1 * kSecond;         // without an answer for this long, the fallback takes over for good
  std::uint32_t tolerate = 20;           // refusals and missed limits within a minute; after one more it takes over
};

// What has become of the questions and answers so far.
struct OutsideCounts {
  std::uint64_t asked = 0, answered = 0;
  std::uint64_t refused = 0;  // parts of answers: a job that does not exist, a launch that is not possible
  std::uint64_t missed = 0;   // questions of an assignment that were open for longer than the limit
};

class Outside {
 public:
  virtual ~Outside() = default;

  [[nodiscard]] virtual const OutsideTerms& terms() const = 0;
  [[nodiscard]] virtual const OutsideCounts& counts() const = 0;
  // Returns the number of the question that is open; nothing if there is none. Numbers rise.
  [[nodiscard]] virtual std::optional<std::uint64_t> open() const = 0;
  // Returns what the program has to know for the open question, as lines: what has changed since the last call, or
  // everything if `whole`. Requires: a question is open.
  [[nodiscard]] virtual std::string Describe(const ClusterState& state, Micros now, bool whole) = 0;
  // Returns why the text is not an answer ("line 2: ..."); empty if it is one. What it says may still be refused.
  [[nodiscard]] virtual std::string Misread(std::string_view answer) const = 0;
  // Takes the answer to the open question. Requires: Misread(answer) is empty.
  virtual void Answer(const ClusterState& state, std::string_view answer, Micros now) = 0;
};

}  // namespace millrace::sched
