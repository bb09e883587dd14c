// SPDX-License-Identifier: Apache-2.0
// The files that a task in this process writes to a directory of this machine. Thread rule: the task's thread.
#pragma once

#include <memory>
#include <string>

#include "client/format/output_file.h"

namespace millrace::solo {

// Returns an OutputFile for this path. The file is made when the first bytes come, or by Finish; that fails with
// kExists if the path exists by then.
[[nodiscard]] std::unique_ptr<OutputFile> MakeLocalOutput(std::string path);

}  // namespace millrace::solo
