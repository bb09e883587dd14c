// SPDX-License-Identifier: Apache-2.0
// Writes what a tuning has found, for people and for programs. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/advise/advice_text.h"
#include "lab/tune/tuning.h"

namespace millrace::tune {

// The chosen one and the scheduler in force in live runs.
struct LiveCheck {
  std::string where;                        // "local"
  const compare::Material* runs = nullptr;  // of two schedulers; its baseline is the scheduler in force
};

// Everything that is told. Pointers outlive it.
struct Told {
  const compare::History* history = nullptr;
  Parts parts;
  std::size_t schedulers = 0;  // that were tried
  std::vector<Try> tries;
  Searched searched;
  std::vector<std::size_t> finalists;  // of searched.tries; the scheduler after the baseline of `material` is the first
  const compare::Material* material = nullptr;
  std::vector<const compare::Metric*> goals;
  std::string note;  // about them, for people; may be empty
  Tuning tuning;
  std::optional<compare::ModelCheck> model;  // by the first goal
  std::optional<LiveCheck> live;
  std::string applied;  // what was done to put it in force; empty: nothing
};

[[nodiscard]] std::string TuningText(const Told& told);
[[nodiscard]] nlohmann::ordered_json TuningJson(const Told& told);
// Returns all tries as CSV: scheduler, the settings that differ, in how many draws each was, by goal its value over
// that of the scheduler in force in these (or the difference, for a goal that can be 0), and whether it is a finalist.
[[nodiscard]] std::string TriesCsv(const Told& told);
// Returns the text of a scheduler file with which the chosen scheduler is used. Requires: one is chosen.
[[nodiscard]] std::string ChosenSettings(const Told& told);

}  // namespace millrace::tune
