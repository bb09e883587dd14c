// Files that a task has written and its worker opens. A task is not trusted: it may have put a link to a file of the
// worker there, or a pipe at which the opener would wait. Thread rule: any thread.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

// Opens a regular file as OpenFile does. Returns kInvalid if it is anything else: a link, a pipe, a directory.
[[nodiscard]] Result<Fd> OpenTaskFile(const std::string& path, int flags);

}  // namespace millrace::sandbox
