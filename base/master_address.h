// The default address of the master: a master listens there, and workers and the command line look for it there.
#pragma once

namespace millrace {

inline constexpr const char* kDefaultMasterAddress = "127.0.0.1:7700";

}  // namespace millrace
