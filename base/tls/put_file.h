// PutFile and ReadKeyFile write and read the files of keys and certificates. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::tls {

inline constexpr int kForOwner = 0600;  // keys
inline constexpr int kForAll = 0644;    // certificates

// Writes a file durably with this mode, whatever the umask is: after a crash either the old file or the new one exists.
// Returns kExists if there is a file, unless `replace`. A link at the path is replaced, and never followed.
[[nodiscard]] Status PutFile(const std::string& path, std::string_view text, int mode, bool replace);

// Reads a file that holds a key. As ssh does, refuses a file that others than its owner may read or change, since a key
// that others may have read proves nothing; returns kDenied, with the command to run.
[[nodiscard]] Result<std::string> ReadKeyFile(const std::string& path);

}  // namespace millrace::tls
