// Descriptors of a daemon: as many as the system allows, and how they are shared out. Thread rule: main, before
// threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::daemon {

// Raises the soft limit of descriptors (RLIMIT_NOFILE) to the hard one. Returns the limit that holds then.
std::uint64_t RaiseDescriptorLimit();

// How many connections a daemon with so many descriptors may have: what is left of them after a quarter, and no fewer
// than 320, for files and the database; at most 65,536; at least 16. Pure.
[[nodiscard]] std::size_t ConnectionsFor(std::uint64_t descriptors);

}  // namespace millrace::daemon
