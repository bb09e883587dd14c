// The address that all programs use when they are told nothing: a master listens there, and workers and the command
// line look for it there.
#pragma once

namespace millrace {

inline constexpr const char* kDefaultMasterAddress = "127.0.0.1:7700";

}  // namespace millrace
