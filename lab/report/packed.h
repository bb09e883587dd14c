// Packs a text as base64 of gzip: a document shrinks to a quarter, in letters that mean nothing to HTML or JavaScript.
// Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace millrace::report {

// Returns `text` compressed (RFC 1952) and then in the letters of RFC 4648, section 4, with padding, on one line.
// Requires: `text` has less than 4 GiB.
[[nodiscard]] std::string Packed(std::string_view text);

}  // namespace millrace::report
