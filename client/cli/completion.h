// `millrace completion bash` prints a script for bash-completion; `source <(millrace completion bash)` uses it. Thread
// rule: any thread.
#pragma once

#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] int CompletionCommand(const Invocation& invocation, const Words& args, const std::vector<Verb>& verbs);

// Returns the script. It completes verbs in the first two places of the command line, the bundled jobs after `run`,
// then options, and jobs, nodes and paths of the cluster or local files. The script never executes a part of a name,
// and quotes its offers for the shell. Requires bash 4.4.
[[nodiscard]] std::string BashCompletion(const std::vector<Verb>& verbs);

}  // namespace millrace::cli
