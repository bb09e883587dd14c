// SPDX-License-Identifier: Apache-2.0
// Writes advice for people and for programs. Thread rule: free functions, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lab/advise/advice.h"
#include "lab/advise/history.h"

namespace millrace::compare {

// The change that puts the recommended scheduler in force.
struct Change {
  std::string command;   // `millrace scheduler set NAME`; empty if the scheduler stays and only its settings change
  std::string settings;  // lines of the scheduler file; empty if it stays as it is
};
// Requires: a scheduler is recommended.
[[nodiscard]] Change ChangeOf(const Advice& advice, const Material& material, const History& history);

// Both functions write advice that comes from a comparison; `material` is that of the comparison.
[[nodiscard]] std::string AdviceText(const Advice& advice, const Material& material, const History& history);
[[nodiscard]] nlohmann::ordered_json AdviceJson(const Advice& advice, const Material& material, const History& history);
// Writes advice that does not come from a comparison.
[[nodiscard]] nlohmann::ordered_json AdviceJson(const Advice& advice);

}  // namespace millrace::compare
