// PlainReason strips source code and variables from a failure text of KJ. Thread rule: free function, any thread.
#pragma once

#include <string>
#include <string_view>

namespace millrace::rpc {

// Returns the part of the text that is meant for people, on one line: "Address already in use" from "::bind(fd, ...):
// Address already in use; fd = 7", "the name is not found: Name or service not known" from "DNS lookup failed.;
// params.host = x; gai_strerror(status) = Name or service not known".
[[nodiscard]] std::string PlainReason(std::string_view text);

}  // namespace millrace::rpc
