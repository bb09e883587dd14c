// These compute the value of task.memory_limit = auto. Each slot gets an equal share of the memory that the worker may
// use, after a tenth of it, and at least 256 MiB, is set aside for the daemon and for blocks that the system caches. A
// share is never less than twice the buffers that a task may have (task.memory), since some jobs take as much once
// more, and 512 MiB, so that no task fails for a limit that was set for safety. If more slots are asked for than there
// is memory for, the limits may add up to more than there is. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace millrace::worker {

// Returns the part of the worker's memory that is left for tasks.
[[nodiscard]] std::uint64_t MemoryForTasks(std::uint64_t memory);
// Returns the bytes that a task process must be able to take: those buffers twice, and 512 MiB.
[[nodiscard]] std::uint64_t LeastShare(std::uint64_t task_memory);
// Returns the bytes that a task process may take; 0 (no limit) if `memory`, which the worker may use, is not known (0).
[[nodiscard]] std::uint64_t MemoryShare(std::uint64_t memory, std::uint64_t slots, std::uint64_t task_memory);

// The limits that task.memory_limit sets. At most one of them is not 0.
struct MemoryLimits {
  std::uint64_t bound = 0;  // with which a task process is started
  std::uint64_t share = 0;  // to which it limits itself
};

// Reads the option: "auto", which stands for `share`, or a number of bytes. kInvalid for anything else.
[[nodiscard]] Result<MemoryLimits> ReadMemoryLimit(const std::string& option, std::uint64_t share);

}  // namespace millrace::worker
