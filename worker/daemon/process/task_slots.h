// Resolves the values of worker.map_slots and worker.reduce_slots = auto. Thread rule: any thread.
#pragma once

#include <cstdint>

namespace millrace::worker {

inline constexpr std::int64_t kMostSlots = 1024;  // of a kind

struct TaskSlots {
  std::int64_t maps = 0, reduces = 0;
  friend bool operator==(const TaskSlots&, const TaskSlots&) = default;
};

// Returns `asked` with a number in place of each kAuto (base/field.h): a map slot for each core and half as many reduce
// slots, at least one of each and at most kMostSlots. If the worker's memory is too small for LeastShare
// (memory_share.h) in each of these slots, there are as many slots as it suffices for, with two map slots for each
// reduce slot, and at least one of each. A number that was asked for stays as it is, and the memory of its tasks is not
// available for the others. `cores` is at least 1. `memory` is the memory that the worker may use; 0 means that it is
// not known and limits nothing.
[[nodiscard]] TaskSlots ResolveSlots(const TaskSlots& asked, std::uint64_t cores, std::uint64_t memory,
                                     std::uint64_t task_memory);

}  // namespace millrace::worker
