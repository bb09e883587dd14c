// The file descriptors of a daemon: these functions raise their number as far as the system allows, and share them out.
// Thread rule: main, before threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::daemon {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one. Returns the new limit.
std::uint64_t RaiseDescriptorLimit();

// Returns how many connections a daemon with this number of descriptors may have: a quarter of the descriptors, but no
// fewer than 320, is kept for files and the database, and the rest is for connections; at least 16 and at most 65,536.
// It is pure.
[[nodiscard]] std::size_t ConnectionsFor(std::uint64_t descriptors);

}  // namespace millrace::daemon
