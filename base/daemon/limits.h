// SPDX-License-Identifier: Apache-2.0
// The limits of the system on a daemon: file descriptors, which are divided between files and connections, and threads.
// Thread rule: the main thread, before others start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace millrace::daemon {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one. Returns the new limit.
std::uint64_t RaiseDescriptorLimit();

// Returns the number of connections that a daemon with this many descriptors may have. A quarter of the descriptors,
// but at least 320, is kept for files and the database; the rest is for connections. The result is at least 16 and at
// most 65,536. Pure.
[[nodiscard]] std::size_t ConnectionsFor(std::uint64_t descriptors);

// Starts `wanted` threads to check that the system allows this process that many at a time. The libraries that a daemon
// uses start threads at any time, and end the process when one is refused. If not all start, returns kBusy with the
// number that did and the limits to raise.
[[nodiscard]] Status CheckThreads(std::size_t wanted);

}  // namespace millrace::daemon
