// SPDX-License-Identifier: Apache-2.0
// How a command starts the programs that its schedulers name (external:PATH). Thread rule: free functions, one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/console/arguments.h"
#include "base/status.h"
#include "schedulers/outside/program.h"

namespace millrace::cli {

struct ProgramWords {
  bool confine = false;               // --confine
  std::vector<std::string> readable;  // --readable
};
void DeclarePrograms(console::Arguments& arguments, ProgramWords* words);
// Returns what starts programs as the words say. `directory` is that of millrace-launch. A machine that cannot confine
// programs is noticed when the first one is started. Returns kInvalid for words that do not go together.
[[nodiscard]] Result<outside::Launch> LaunchOf(const ProgramWords& words, const std::string& directory);

// Declares --think, and reads it: a duration, or "measured", which is nothing (SimOptions::thinking).
void DeclareThinking(console::Arguments& arguments, std::string* think);
[[nodiscard]] Result<std::optional<Micros>> ReadThinking(const std::string& think);

}  // namespace millrace::cli
