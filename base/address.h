// Addresses that have a meaning of their own: the default one of the master, and hosts that mean this machine. Thread
// rule: any thread.
#pragma once

#include <string_view>

namespace millrace {

// A master listens there, and workers and the command line look for it there, unless they are told otherwise.
inline constexpr const char* kDefaultMasterAddress = "127.0.0.1:7700";

// Returns true for hosts that mean this machine on any network: localhost, ::1 (with or without brackets) and 127.*.
[[nodiscard]] inline bool IsLoopbackHost(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace millrace
