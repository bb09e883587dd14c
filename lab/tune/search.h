// SPDX-License-Identifier: Apache-2.0
// Search looks for schedulers and settings that serve a workload better by several goals at once: tries at random, of
// which in each round the better half goes on and gets twice the runs (successive halving: Jamieson and Talwalkar,
// "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016).
//
// The rule, as code:
//
//   tries = the scheduler in force; every other scheduler with the settings in force; and at random, in turn, the
//           schedulers that have settings to search
//   for draws = 2, 4, 8, 16:
//     simulate each try on the draws of the workload that it has not had
//     losses of a try = by goal, how much worse it is than the scheduler in force on the same draws, on average
//     the scheduler in force and the better half of the others go on, at least kFewest, in the order of BestFirst
//   result = the tries that go on, with their losses
//
// Tries that are drawn are all in the same draws, so their losses are of pairs. What a search finds was the luckiest of
// many, so its losses flatter: whoever wants to know what it is worth judges it on draws that the search has not seen.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "lab/tune/knob.h"
#include "schedulers/settings/settings.h"

namespace millrace::tune {

// By goal, how much worse than something else; below 0: better.
using Losses = std::vector<double>;

// Returns the indices of the points that no other point beats (is no worse in any goal and better in one), in their
// order. Of points that differ by at most kAlike in every goal only the first is looked at.
[[nodiscard]] std::vector<std::size_t> Front(const std::vector<Losses>& points);
inline constexpr double kAlike = 0.002;

// Returns all indices: the front, then the front of the rest, and so on. Within a front those come first that have the
// most room to both sides (the crowding distance of NSGA-II: Deb and others, IEEE TEC 2002), the ends of the front
// before all.
[[nodiscard]] std::vector<std::size_t> BestFirst(const std::vector<Losses>& points);

// A scheduler with settings that is tried.
struct Try {
  sched::Variant variant;           // the label is the scheduler's name, with a number if the settings are its own
  std::vector<std::string> values;  // "delay.rack_wait=1.5s"; what differs from the settings in force
};

// Returns `in_force`, the other schedulers with its settings, and as many tries at random as make `tries` in all.
// `knobs` returns the settings of a scheduler that are searched. Values that contradict each other are drawn again.
[[nodiscard]] std::vector<Try> DrawTries(const sched::Variant& in_force, const std::vector<std::string>& schedulers,
                                         const std::function<std::vector<Knob>(const std::string& scheduler)>& knobs,
                                         std::size_t tries, Random& random);

// A run that is asked for.
struct Wanted {
  std::size_t of = 0;  // the try
  std::uint32_t draw = 0;
};
// By goal; higher is worse. Nothing if the run says nothing: jobs did not end, or a goal has no value.
using Measured = std::optional<std::vector<double>>;
// Makes the runs, in any order, and returns their values in the order in which they were asked for.
using MakeRuns = std::function<Result<std::vector<Measured>>(const std::vector<Wanted>& runs)>;

// A try that was left at the end, or before.
struct Found {
  std::size_t of = 0;
  std::uint32_t draws = 0;
  Losses losses;
};
struct Searched {
  std::vector<Found> tries;       // all that have losses, by their number; the first is the scheduler in force
  std::vector<std::size_t> last;  // of `tries`: those that were left after the last round
  std::vector<bool> ratios;       // by goal: losses are logarithms of ratios
  std::size_t runs = 0;
};

inline constexpr std::uint32_t kRounds[] = {2, 4, 8, 16};
inline constexpr std::size_t kFewest = 8;

// Searches among tries, of which the first is the scheduler in force. Returns what `make` fails with, and kInvalid if
// a run of the scheduler in force says nothing. The losses are logarithms of ratios where all values of a goal are
// above 0, and else differences.
[[nodiscard]] Result<Searched> Search(std::size_t tries, std::size_t goals, const MakeRuns& make);

}  // namespace millrace::tune
