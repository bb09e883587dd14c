// The files that a task in this process writes to a directory of this machine. Thread rule: the task's thread.
#pragma once

#include <memory>
#include <string>

#include "client/format/output_file.h"

namespace millrace::solo {

// Returns a new file of this path. It is made by the first bytes, or by Finish; kExists then if it is there.
[[nodiscard]] std::unique_ptr<OutputFile> MakeLocalOutput(std::string path);

}  // namespace millrace::solo
