// CheckThreads checks that a daemon can start as many threads as it needs. Thread rule: the main thread, before others
// start.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace millrace::daemon {

// Starts `wanted` threads to check that the system allows this process that many at a time. The libraries that a daemon
// uses start threads at any time, and end the process when one is refused. If not all start, returns kBusy with the
// number that did and the limits to raise.
[[nodiscard]] Status CheckThreads(std::size_t wanted);

}  // namespace millrace::daemon
