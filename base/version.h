// The version of Millrace, as every program reports it.
#pragma once

namespace millrace {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace millrace
