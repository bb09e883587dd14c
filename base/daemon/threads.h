// The threads of a daemon. Thread rule: main, before threads.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace millrace::daemon {

// Checks that the system gives this process so many threads at a time, by starting them. The libraries that a daemon
// uses start threads when they like, and end the process where one is refused. kBusy says how many there are, and which
// limits to raise.
[[nodiscard]] Status CheckThreads(std::size_t wanted);

}  // namespace millrace::daemon
