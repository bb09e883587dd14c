// IsLoopbackHost recognises host names that mean this machine on any network. Thread rule: a free function, any thread.
#pragma once

#include <string_view>

namespace millrace {

// Returns true for localhost, ::1 (with or without brackets) and 127.*.
[[nodiscard]] inline bool IsLoopbackHost(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace millrace
