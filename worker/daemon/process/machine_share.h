// SPDX-License-Identifier: Apache-2.0
// Computes what tasks get of a worker's machine where the options say auto: the memory of each (task.memory_limit) and
// the number of slots (worker.map_slots, worker.reduce_slots).
//
// A tenth of the memory that the worker may use, but at least 256 MiB, is set aside for the daemon and for blocks that
// the system caches; each slot gets an equal share of the rest. A share is never less than 512 MiB plus twice the
// buffers that a task may have (task.memory), since some jobs take as much memory again beside their buffers. So no
// task fails because of a limit that was set for safety. If there are more slots than the memory suffices for, the
// limits may add up to more than there is. Thread rule: any thread.
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

inline constexpr std::int64_t kMostSlots = 1024;  // of a kind

struct TaskSlots {
  std::int64_t maps = 0, reduces = 0;
  friend bool operator==(const TaskSlots&, const TaskSlots&) = default;
};

// Returns `asked` with a number in place of each kAuto (base/field.h): a map slot for each core and half as many reduce
// slots, at least one of each and at most kMostSlots. If the worker's memory is too small for LeastShare in each of
// these slots, there are as many slots as it suffices for, with two map slots for each reduce slot, and at least one of
// each. A number that was asked for stays as it is, and the memory of its tasks is not available for the others.
// `cores` is at least 1. `memory` is the memory that the worker may use; 0 means that it is not known and limits
// nothing.
[[nodiscard]] TaskSlots ResolveSlots(const TaskSlots& asked, std::uint64_t cores, std::uint64_t memory,
                                     std::uint64_t task_memory);

}  // namespace millrace::worker
