// The command line of the program `millrace`. Exit status: 0 done, 1 the job or operation failed, 2 wrong usage, 3 the
// cluster cannot be reached; an error is one line on standard error. Thread rule: the main thread, before others start.
#pragma once

#include <string>
#include <vector>

#include "client/cli/verbs.h"

namespace millrace::cli {

// Runs the command line. `words` is the command line without the program's name. The master and the wait of `defaults`
// are used unless --master and --wait are given. `more` holds verbs from other parts of the program (the daemons and
// `local`). If a Printer of the console fails to write, the command fails.
[[nodiscard]] int RunCli(const Invocation& defaults, const Words& words, const std::vector<Verb>& more);

// Returns all verbs, in the order of --help.
[[nodiscard]] std::vector<Verb> AllVerbs(const std::vector<Verb>& more);

}  // namespace millrace::cli
