// SchemeOf distinguishes URLs of other storage systems from paths: `s3://bucket/out` counts as a URL, although it could
// be a path. Thread rule: free functions, any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace millrace {

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
