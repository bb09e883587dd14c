// CheckThreads checks that a daemon can have its threads. Thread rule: main, before threads.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace millrace::daemon {

// Checks that the system allows this process `wanted` threads at a time, by starting them. The libraries that a daemon
// uses start threads at any time, and end the process when one is refused. Returns kBusy with the number that started
// and the limits to raise.
[[nodiscard]] Status CheckThreads(std::size_t wanted);

}  // namespace millrace::daemon
