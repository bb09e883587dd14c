// SPDX-License-Identifier: Apache-2.0
// `millrace compare PAPER.toml...` runs the evaluations in papers' files (lab/study/paper.h). Simulated ones are run,
// and printed or put into a page. For live papers it prints the commands that run them, or puts their results into a
// page. Thread rule: one thread calls; seeds run on several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/invocation.h"

namespace millrace::compare {

// 0 and empty mean that an option was not given.
struct PaperWords {
  std::vector<std::string> paths;
  std::string directory, write, check;
  std::int64_t seeds = 0, seed = -1;
  bool json = false;
};

// Returns the exit status.
int RunPaperFiles(const cli::Invocation& invocation, const PaperWords& words);

}  // namespace millrace::compare
