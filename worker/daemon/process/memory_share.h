// What task.memory_limit = auto comes to. Each slot has an equal share of the memory that the worker may use, after a
// tenth of it, and at least 256 MiB, is set aside for the daemon and for blocks that the system caches. So that no task
// fails for a limit that was set for safety, it is never less than twice the buffers that a task may have
// (task.memory), since there are jobs that take as much once more, and 512 MiB: on a small machine the limits of all
// slots may come to more than there is. Thread rule: any thread.
#pragma once

#include <cstdint>

namespace millrace::worker {

// Returns the bytes that a task process may take; 0 (no limit) if `memory`, what the worker may use, is not known (0).
[[nodiscard]] std::uint64_t MemoryShare(std::uint64_t memory, std::uint64_t slots, std::uint64_t task_memory);

}  // namespace millrace::worker
