// SPDX-License-Identifier: Apache-2.0
// Finds the verb of a command and runs it. Thread rule: any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/cli/invocation.h"

namespace millrace::cli {

struct Verb {
  std::string name;
  std::string one_line;
  std::function<int(const Invocation&, const Words&)> run;  // takes the words after the verb
  Words below;                                              // verbs of its own, for completion
};

[[nodiscard]] Words Names(const std::vector<Verb>& verbs);
[[nodiscard]] bool AsksForHelp(const std::string& word);  // "--help", "-h" or "help"

// Runs the verb that args[0] names. Without a verb, or with an unknown one, prints one line and returns kWrongUsage.
// --help lists the verbs.
[[nodiscard]] int RunVerb(const Invocation& invocation, const std::string& command, const std::vector<Verb>& verbs,
                          const Words& args);

// Returns a table: every column is as wide as its widest cell, with two spaces between columns and nothing after the
// last. The first row is the head. Cells are made printable (base/text.h).
[[nodiscard]] std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace millrace::cli
