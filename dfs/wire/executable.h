// CheckExecutable guards the directory where clients keep the executables of jobs (kExecutablesDirectory). A file there
// is named after the SHA-256 of its content, and any user may store files: a user who has stored a file under the name
// of another user's program must not have that file run in its place. Thread rule: a free function, any thread.
#pragma once

#include <string_view>

#include "base/status.h"

namespace millrace::dfs {

// Returns kCorrupt if the file lies in that directory and its name is not `digest`, the digest of its content
// (tls::Sha256Hex). Code that is about to execute a file of the file system calls this first.
[[nodiscard]] Status CheckExecutable(std::string_view canonical, std::string_view digest);

}  // namespace millrace::dfs
