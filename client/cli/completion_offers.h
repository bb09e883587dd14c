// SPDX-License-Identifier: Apache-2.0
// What may stand at a place of a command line, for the shells that complete it: commands, options, their values, and
// what the cluster has. Thread rule: the main thread.
#pragma once

#include <string>
#include <vector>

#include "client/cli/verbs.h"

namespace millrace::cli {

// An option of a command, as its help lists it.
struct ListedOption {
  std::vector<std::string> names;  // "-o", "--output"
  bool takes_value = false;
};
// Reads the options from the text of a --help.
[[nodiscard]] std::vector<ListedOption> OptionsInHelp(const std::string& help);

// Returns the whole words that may stand in place of the last of `words`, which is being typed and may be empty; the
// words before it are those after the program's name. Not all of them begin as typed. None are returned where a file of
// this machine stands. It asks the cluster, without waiting for one that is away, and starts no program but bundled
// jobs.
[[nodiscard]] std::vector<std::string> OffersFor(const Invocation& invocation, const Words& words,
                                                 const std::vector<Verb>& verbs);

}  // namespace millrace::cli
