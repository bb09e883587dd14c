// The file descriptors of a daemon. These functions raise their limit as far as the system allows, and divide them
// between files and connections. Thread rule: main, before threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::daemon {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one. Returns the new limit.
std::uint64_t RaiseDescriptorLimit();

// Returns the number of connections that a daemon with this many descriptors may have. A quarter of the descriptors,
// but at least 320, is kept for files and the database; the rest is for connections. The result is at least 16 and at
// most 65,536. Pure.
[[nodiscard]] std::size_t ConnectionsFor(std::uint64_t descriptors);

}  // namespace millrace::daemon
