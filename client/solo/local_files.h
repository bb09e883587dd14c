// SPDX-License-Identifier: Apache-2.0
// Files of this machine as the input of a job, found as the master finds those of the file system
// (master/jobs/splits.h). Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/job/input_file.h"

namespace millrace::solo {

// Returns the files and directories that a pattern (dfs/wire/pattern.h) stands for, in order; none if it matches
// nothing. A path that is not a pattern stands for itself and is not looked up.
[[nodiscard]] Result<std::vector<std::string>> MatchLocal(const std::string& path);

// Returns `path` itself if it is a file, or the files below the directory, in order of names in each directory, without
// names that begin with '_' or '.'. Returns kNotFound if it does not exist.
[[nodiscard]] Result<std::vector<InputFile>> ListLocal(const std::string& path);

// Returns the files of an INPUT, which may be a pattern. Returns kNotFound if there is nothing of that name.
[[nodiscard]] Result<std::vector<InputFile>> ListLocalInput(const std::string& input);

}  // namespace millrace::solo
