// SPDX-License-Identifier: Apache-2.0
// A program that orders the jobs of a simulation (docs/schedulers/external.md has the lines). The program runs as the
// user who simulates: a simulation trusts it as far as a shell does. Thread rule: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ids/time.h"
#include "base/status.h"
#include "lab/model/simulate.h"
#include "schedulers/core/outside.h"

namespace millrace::outside {

// How long the program thinks in the time of the simulation: always this long, or, if empty, as long as it really took.
using Thinking = std::optional<Micros>;

// Returns what starts the program of a policy for each simulation (SimOptions::ask).
[[nodiscard]] std::function<Result<std::unique_ptr<sim::Adviser>>(const sched::OutsideTerms&)> Starter(
    Thinking thinking);

// Starts the program, asks what kind of policy it is, and ends it.
[[nodiscard]] Result<sched::OutsideTerms::Kind> KindOf(const std::string& program);

}  // namespace millrace::outside
