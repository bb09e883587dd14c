// Finds JOB of the command line: a bundled example by name, or the path of an executable. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::cli {

// Returns the path of the executable. `directory` holds the bundled examples, beside the program. A word with a slash
// is a path. Returns kNotFound if there is no such file, and kInvalid if it cannot be executed.
[[nodiscard]] Result<std::string> FindJob(const std::string& word, const std::string& directory);

}  // namespace millrace::cli
