// Which files may be executed among those where clients keep the executables of jobs (kExecutablesDirectory). There a
// name is the SHA-256 of what the file has, and any user may store files: whoever is the first to take the name of
// another's program must not have his file run as that. Thread rule: a free function, any thread.
#pragma once

#include <string_view>

#include "base/status.h"

namespace millrace::dfs {

// Returns kCorrupt if the file lies there and its name is not `digest`, that of its content (tls::Sha256Hex). Whoever
// is about to execute a file of the file system asks this first.
[[nodiscard]] Status CheckExecutable(std::string_view canonical, std::string_view digest);

}  // namespace millrace::dfs
