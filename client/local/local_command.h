// SPDX-License-Identifier: Apache-2.0
// `millrace local` runs a whole cluster for the length of one command. Thread rule: the main thread, before others
// start.
#pragma once

#include "client/cli/invocation.h"
#include "client/local/local_cluster.h"

namespace millrace::local {

struct LocalOptions {
  ClusterOptions cluster;
  bool run = false;                  // true: `command` is "JOB LOCAL_INPUT... -o LOCAL_DIR"
  bool stream = false;               // true with `run`: `command` is of the words of `stream`
  std::vector<std::string> command;  // the words after "run" or "--"
};

// Reads the options. Returns an exit status if the command has nothing more to do.
[[nodiscard]] std::optional<int> ParseLocalOptions(const cli::Invocation& invocation, const cli::Words& args,
                                                   LocalOptions* options);

[[nodiscard]] int LocalCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::local
