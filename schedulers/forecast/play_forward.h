// SPDX-License-Identifier: Apache-2.0
// PlayForward: the start and end of each live job, if tasks take the times that are expected of them. It plays a copy
// of the engine forward under the policy in force.
//
// The rule, as code:
//
//   each running task ends at its expected end (below); a reduce that still copies does so after the job's last map
//   until every live job has ended in the copy, nothing more will happen, or a bound is reached:
//     go to the next moment at which a task ends, a reduce has copied, or the engine wants to be called (NextWake)
//     tell the copy what ends then, and let its policy decide
//     a map that is launched ends after ExpectedTimes::map; a reduce has copied after ExpectedTimes::copy, from the
//       later of its launch and the job's last map; it ends after ExpectedTimes::compute once it may compute
//   a job starts at its first launch, and ends when the copy ends it
//
// What is left of a running task: its expected time less the time that it has run. If it has run longer, it is expected
// to run on for as long as it is late, but at least for a tenth of its expected time. A map that has told its progress
// is expected to go on as fast, the more so the further it is.
//
// A job that is on hold is not waited for: nothing is told of it, and the others go on as if it stayed so.
//
// If nothing says how long the tasks of a job take, the mean of all tasks of the kind stands for it, so that starts and
// ends of other jobs are still told; without such a mean, none are.
//
// The play has no failures, no stragglers, no nodes that come or go, and no jobs that have yet to be submitted. It does
// not know what is read over the network. So its answers have errors, which intervals.h measures. It is pure: the same
// arguments give the same answers. Thread rule: any thread, if the engine is one of Engine::Detach; else the engine's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/engine.h"
#include "schedulers/forecast/task_times.h"

namespace millrace::sched {

// Why a start or an end is unknown.
enum class Unforeseen : std::uint8_t {
  kNone,           // it is known
  kNothingLearnt,  // nothing says how long the tasks of the job take
  kBlind,          // nothing says how long the tasks of some job take, and no task of the kind has ended yet
  kStandsStill,    // the job gets no further in the play, whatever ends: it is held back, or lacks slots or room
  kTooFar,         // the play was stopped by a bound before
  kHeld,           // the job is on hold (JobHeld), and nobody knows until when
};
// Returns the reason as a clause ("nothing is known of how long its tasks take"); "" for kNone.
[[nodiscard]] std::string_view InWords(Unforeseen why);

struct PlayedJob {
  JobId job;
  bool started = false;              // before the play
  std::optional<Micros> start, end;  // a job that has started has its true start
  Unforeseen why_no_start = Unforeseen::kNone, why_no_end = Unforeseen::kNone;
};

struct PlayBounds {
  std::uint64_t events = 1'000'000;   // that the copy is told
  Micros ahead = 30 * 24 * kHour;     // how far the play goes
  std::optional<JobId> watched = {};  // see Played::ahead
  // Called now and then; the play stops when it returns true. Without it the play is bounded by the others alone.
  std::function<bool()> stop = {};
};

struct Played {
  std::vector<PlayedJob> jobs;  // live ones, by id
  std::uint64_t events = 0;     // that the copy was told
  // The other jobs of which a task runs when the play begins, or is launched in it before the first one of `watched`,
  // in order. None if that job has started before the play.
  std::vector<JobId> ahead = {};
};

// Plays `engine`, which is used up, from `now`. Requires: `engine` is a copy (Engine::Clone or Engine::Detach), and
// `now` is not before its last call.
[[nodiscard]] Played PlayForward(Engine& engine, Micros now, const TaskTimes& times, const PlayBounds& bounds);

}  // namespace millrace::sched
