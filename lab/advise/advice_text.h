// SPDX-License-Identifier: Apache-2.0
// Writes advice for people and for programs. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lab/advise/advice.h"
#include "lab/advise/history.h"

namespace millrace::compare {

// The change that puts the recommended scheduler in force.
struct Change {
  std::string command;   // `millrace scheduler set NAME`; empty if the scheduler stays and only its settings change
  std::string settings;  // lines of the scheduler file; empty if it stays as it is
};
[[nodiscard]] Change ChangeTo(const sched::Variant& to, const History& history);

// Lines that more than one command prints.
// "18.3 s in place of 46.3 s: 0.41 times as much (95%: 0.38 to 0.45)"
[[nodiscard]] std::string Effect(const Metric& metric, double before, double after, const sim::Comparison& comparison);
// The jobs, users and nodes, and how much of the slots was in use in the first run of the baseline.
[[nodiscard]] std::string HistoryLine(const Material& material, const History& history);
// How far off the simulator is, and whether that is more than the gain, a ratio.
[[nodiscard]] std::string ModelLine(const std::optional<ModelCheck>& check, const Metric& metric,
                                    std::optional<double> gain, const History& history);
// What is assumed of cores, if that matters; else empty.
[[nodiscard]] std::string CoresLine(std::optional<std::uint32_t> recommended, const Material& material,
                                    const History& history);
[[nodiscard]] std::string ChangeText(const Change& change, const History& history);

// Both functions write advice that comes from a comparison; `material` is that of the comparison.
[[nodiscard]] std::string AdviceText(const Advice& advice, const Material& material, const History& history);
[[nodiscard]] nlohmann::ordered_json AdviceJson(const Advice& advice, const Material& material, const History& history);
// Writes advice that does not come from a comparison.
[[nodiscard]] nlohmann::ordered_json AdviceJson(const Advice& advice);

}  // namespace millrace::compare
