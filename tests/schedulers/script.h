// SPDX-License-Identifier: Apache-2.0
// Golden tests that read as a table: events in, effects out.
//
// A script consists of lines of text. An event line (schedulers/events/event_text.h) is applied; "TIME decide" lets
// the policy fill slots. The effects of a line follow it, in lines that begin with "->":
//
//   0 NodeJoined node=n1 maps=1
//   1 JobSubmitted job=job1 maps=1:n1
//   1 decide
//   -> launch job1.m.0.0 n1 node
//   2 AttemptSucceeded attempt=job1.m.0.0
//   -> ended job1 succeeded
//
// An event that the engine refuses has the effect "-> refused". Empty lines, lines that begin with '#' and white space
// at both ends of a line are ignored.
#pragma once

#include <string>
#include <string_view>

#include "schedulers/core/engine.h"
#include "schedulers/events/effects.h"

namespace millrace::sched {

// Returns the effect as text: "launch job1.m.0.0 n1 node", "kill job1.m.0.0 n1: REASON", "preempt job1.m.0.0 n1:
// REASON", "ready job1.m.0.0 n1", "gone job1.m.0.0 n1", "evict job1", "blame n1 by job1 until 602", "ended job1 failed:
// REASON".
std::string FormatEffect(const Effect& effect);

// Plays the script to the engine. Returns the script with the effects that really followed in place of its own, and
// without comments and surrounding white space. A line that is neither an event nor "decide" has the effect "-> not a
// line of a script".
std::string Play(Engine* engine, std::string_view script);
// Returns the script as Play would return it if every effect in the script were right.
std::string Tidy(std::string_view script);

}  // namespace millrace::sched

// Plays the script and expects the effects in it. Differences are printed line by line.
#define EXPECT_PLAYS(engine, script)                                           \
  do {                                                                         \
    const std::string script_expected = ::millrace::sched::Tidy(script);       \
    const std::string script_played = ::millrace::sched::Play(engine, script); \
    EXPECT_EQ(script_expected, script_played);                                 \
  } while (false)
