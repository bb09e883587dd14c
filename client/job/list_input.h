// SPDX-License-Identifier: Apache-2.0
// Lists the files of an input in the file system.
// Thread rule: the caller's.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/job/input_file.h"

namespace millrace {

namespace dfs {
class DfsClient;
}  // namespace dfs

// Returns the files that the master would split (master/jobs/splits.h), as InputFiles::List does. Returns kNotFound if
// there are none.
[[nodiscard]] Result<std::vector<InputFile>> ListInput(dfs::DfsClient& files, const std::string& input);

}  // namespace millrace
