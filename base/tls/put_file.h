// Writes a key or a certificate. Thread rule: a free function, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::tls {

inline constexpr int kForOwner = 0600;  // keys
inline constexpr int kForAll = 0644;    // certificates

// Writes a file durably with this mode, whatever the umask is: after a crash there is the old file or the new one.
// Returns kExists if there is one, unless `replace`.
[[nodiscard]] Status PutFile(const std::string& path, std::string_view text, int mode, bool replace);

}  // namespace millrace::tls
