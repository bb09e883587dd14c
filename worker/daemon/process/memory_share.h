// Computes the value of task.memory_limit = auto. A tenth of the memory that the worker may use, but at least 256 MiB,
// is set aside for the daemon and for blocks that the system caches; each slot gets an equal share of the rest. A share
// is never less than 512 MiB plus twice the buffers that a task may have (task.memory), since some jobs take as much
// memory again beside their buffers. So no task fails because of a limit that was set for safety. If there are more
// slots than the memory suffices for, the limits may add up to more than there is. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace millrace::worker {

// Returns the part of the worker's memory that is left for tasks.
[[nodiscard]] std::uint64_t MemoryForTasks(std::uint64_t memory);
// Returns the bytes that a task process must be able to take: twice its buffers (`task_memory`) plus 512 MiB.
[[nodiscard]] std::uint64_t LeastShare(std::uint64_t task_memory);
// Returns the bytes that a task process may take. `memory` is the memory that the worker may use; if it is 0 (not
// known), returns 0 (no limit).
[[nodiscard]] std::uint64_t MemoryShare(std::uint64_t memory, std::uint64_t slots, std::uint64_t task_memory);

// The limits that task.memory_limit sets. At most one of them is not 0.
struct MemoryLimits {
  std::uint64_t bound = 0;  // the limit with which a task process is started
  std::uint64_t share = 0;  // the limit that the process sets for itself
};

// Reads the option: "auto", which stands for `share`, or a number of bytes. Returns kInvalid for anything else.
[[nodiscard]] Result<MemoryLimits> ReadMemoryLimit(const std::string& option, std::uint64_t share);

}  // namespace millrace::worker
