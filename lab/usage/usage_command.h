// SPDX-License-Identifier: Apache-2.0
// `millrace usage`. Thread rule: the main thread.
#pragma once

#include <string>

#include "base/ids/time.h"
#include "base/status.h"
#include "client/cli/invocation.h"

namespace millrace::usage {

// The command `millrace usage`: sums what jobs used of the cluster. Takes the words after the verb.
[[nodiscard]] int UsageCommand(const cli::Invocation& invocation, const cli::Words& args);

// Returns the time since the epoch that "7d" or "12h" means, before `now`, or "2026-01-31" or "2026-01-31T12:00", in
// UTC. Returns kInvalid for any other text.
[[nodiscard]] Result<Micros> ParseMoment(const std::string& text, Micros now);

}  // namespace millrace::usage
