// Which hosts are this machine whatever its network is. Thread rule: a free function, any thread.
#pragma once

#include <string_view>

namespace millrace {

// Returns true for localhost, ::1 (also in brackets) and 127.*.
[[nodiscard]] inline bool IsLoopbackHost(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace millrace
