// What task.memory_limit = auto comes to. Each slot has an equal share of the memory that the worker may use, after a
// tenth of it, and at least 256 MiB, is set aside for the daemon and for blocks that the system caches. So that no task
// fails for a limit that was set for safety, it is never less than twice the buffers that a task may have
// (task.memory), since there are jobs that take as much once more, and 512 MiB: where more slots are asked for than
// there is memory for, the limits of all may come to more than there is. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace millrace::worker {

// Returns what is left of the worker's memory for tasks.
[[nodiscard]] std::uint64_t MemoryForTasks(std::uint64_t memory);
// Returns what a task process must be able to take: those buffers twice, and 512 MiB.
[[nodiscard]] std::uint64_t LeastShare(std::uint64_t task_memory);
// Returns the bytes that a task process may take; 0 (no limit) if `memory`, what the worker may use, is not known (0).
[[nodiscard]] std::uint64_t MemoryShare(std::uint64_t memory, std::uint64_t slots, std::uint64_t task_memory);

// What task.memory_limit says. At most one of them is not 0.
struct MemoryLimits {
  std::uint64_t bound = 0;  // with which a task process is started
  std::uint64_t share = 0;  // to which it limits itself
};

// Reads the option: "auto", which comes to `share`, or a number of bytes. kInvalid for anything else.
[[nodiscard]] Result<MemoryLimits> ReadMemoryLimit(const std::string& option, std::uint64_t share);

}  // namespace millrace::worker
