// SPDX-License-Identifier: Apache-2.0
// Paths of the file system: absolute, '/' between components, any byte but '/' and NUL inside one (spaces, newlines and
// bytes that are not UTF-8 included). The master and the command line check paths with this one rule. Thread rule: free
// functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::dfs {

// The directory of what the system itself keeps in the file system.
inline constexpr std::string_view kSystemDirectory = "/.millrace";

// The directory in which clients keep the executables of jobs (client/job_client/executable_store.h), until the master
// removes them (master/control/executables.h).
inline constexpr std::string_view kExecutablesDirectory = "/.millrace/executables";

inline constexpr std::size_t kMaxNameBytes = 255;   // one component of a path, as on Linux
inline constexpr std::size_t kMaxPathBytes = 4096;  // a whole path

// Returns the canonical form: no empty component, no "." or "..", no slash at the end (but "/" itself). Returns
// kInvalid, naming the path (long ones shortened) and the rule, if the path is relative, has a NUL or a "..", or
// exceeds kMaxNameBytes or kMaxPathBytes.
// A URL of another storage system is refused with a message of its own.
[[nodiscard]] Result<std::string> CanonicalPath(std::string_view path);
// Does the same for a path whose first slash may be left out, as in the inputs and the output of a job: `out` is /out.
// Messages show the path as it was given.
[[nodiscard]] Result<std::string> CompletePath(std::string_view path);
[[nodiscard]] std::vector<std::string_view> SplitPath(std::string_view canonical);  // "/" has no components
[[nodiscard]] std::string_view ParentPath(std::string_view canonical);              // the parent of "/" is "/"
[[nodiscard]] std::string_view BaseName(std::string_view canonical);                // the base name of "/" is ""
// Returns true if `canonical` is `ancestor` or lies below it.
[[nodiscard]] bool IsWithin(std::string_view canonical, std::string_view ancestor);

// CheckExecutable guards the directory where clients keep the executables of jobs (kExecutablesDirectory). A file there
// is named after the SHA-256 of its content, and any user may store files: a user who has stored a file under the name
// of another user's program must not have that file run in its place.
//
// Returns kCorrupt if the file lies in that directory and its name is not `digest`, the digest of its content
// (tls::Sha256Hex). Code that is about to execute a file of the file system calls this first.
[[nodiscard]] Status CheckExecutable(std::string_view canonical, std::string_view digest);

}  // namespace millrace::dfs
