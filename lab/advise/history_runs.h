// SPDX-License-Identifier: Apache-2.0
// Runs of a history in the simulator, under several schedulers, in pairs. Thread rule: one thread.
#pragma once

#include <optional>
#include <string>

#include "client/cli/invocation.h"
#include "lab/advise/history.h"
#include "lab/report/document.h"
#include "lab/run/run_store.h"

namespace millrace::compare {

// Returns the conditions that determine the runs; `purpose` tells them from those of another command.
[[nodiscard]] Conditions ConditionsOf(const std::string& purpose, const History& history, const Subject& subject,
                                      const Design& design);

// Makes the runs that the store lacks, shows how far that is, and judges them by the headline. Returns nothing if it
// was interrupted (SIGINT). Requires: `subject` and the store outlive the material.
[[nodiscard]] Result<std::optional<Material>> MakeMaterial(const cli::Invocation& invocation, const Subject& subject,
                                                           const Design& design, Arena& arena, RunStore& store);

// Writes the report of the runs into a directory.
[[nodiscard]] Status WriteReport(const std::string& directory, Arena& arena, Material* material);

}  // namespace millrace::compare
