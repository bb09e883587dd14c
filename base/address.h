// SPDX-License-Identifier: Apache-2.0
// Addresses that have a meaning of their own: the default one of the master, hosts that mean this machine, and URLs of
// other storage systems. Thread rule: any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace millrace {

// A master listens there, and workers and the command line look for it there, unless they are told otherwise.
inline constexpr const char* kDefaultMasterAddress = "127.0.0.1:7700";

// Returns true for hosts that mean this machine on any network: localhost, ::1 (with or without brackets) and 127.*.
[[nodiscard]] inline bool IsLoopbackHost(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

// SchemeOf distinguishes URLs of other storage systems from paths: `s3://bucket/out` counts as a URL, although it could
// be a path.
//
// Returns the scheme ("s3") of a text that begins with SCHEME://, with a scheme as in RFC 3986; empty for any other
// text.
[[nodiscard]] inline std::string_view SchemeOf(std::string_view text) {
  const std::string_view scheme = text.substr(0, text.find("://"));
  if (scheme.empty() || scheme.size() == text.size()) return {};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-'; };
  return letter(scheme.front()) && std::ranges::all_of(scheme, fits) ? scheme : std::string_view();
}

// Returns true if the scheme is that of local files.
[[nodiscard]] inline bool IsFileScheme(std::string_view scheme) { return scheme == "file" || scheme == "FILE"; }

}  // namespace millrace
