// A command with verbs below it: which of them is meant. Thread rule: any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/cli/invocation.h"

namespace millrace::cli {

struct Verb {
  std::string name;
  std::string one_line;
  std::function<int(const Invocation&, const Words&)> run;  // is given the words after the verb
  Words below;                                              // verbs of its own, for completion
};

[[nodiscard]] Words Names(const std::vector<Verb>& verbs);

// Runs the verb that args[0] names. Without one, or with one that is not there: one line and kWrongUsage. --help lists
// them.
[[nodiscard]] int RunVerb(const Invocation& invocation, const std::string& command, const std::vector<Verb>& verbs,
                          const Words& args);

// A table: every column as wide as its widest cell, two spaces between, nothing behind the last. The first row is the
// head. Cells are made printable (base/text.h).
[[nodiscard]] std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace millrace::cli
