// The files that a task in this process writes to a directory of this machine. Thread rule: the task's thread.
#pragma once

#include <memory>
#include <string>

#include "client/format/output_file.h"

namespace millrace::solo {

// Returns a new file for this path. The first bytes, or Finish, make it, with kExists if the path exists then.
[[nodiscard]] std::unique_ptr<OutputFile> MakeLocalOutput(std::string path);

}  // namespace millrace::solo
