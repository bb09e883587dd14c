// The command line of a daemon: `--config FILE`, `--set name=value` (more than once, after the file), `--help` with
// every option. Thread rule: main.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"

namespace millrace::daemon {

// A daemon's own option that takes no value: `--name`.
struct Flag {
  std::string name;
  bool* given;
  std::string one_line;
};

// Sets `options` from `args` (the words after the verb; `verb` is "master" or "worker"). Returns nothing if the daemon
// is to start. Otherwise returns its exit status: 0 after help, 2 after wrong usage. One line on standard error has
// then explained what is wrong.
[[nodiscard]] std::optional<int> ParseArguments(const std::string& verb, const std::string& about,
                                                const std::vector<std::string>& args, OptionSet& options,
                                                const std::vector<Flag>& flags = {});

}  // namespace millrace::daemon
