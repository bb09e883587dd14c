// What worker.map_slots and worker.reduce_slots = auto come to. Thread rule: any thread.
#pragma once

#include <cstdint>

namespace millrace::worker {

inline constexpr std::int64_t kMostSlots = 1024;  // of a kind

struct TaskSlots {
  std::int64_t maps = 0, reduces = 0;
  friend bool operator==(const TaskSlots&, const TaskSlots&) = default;
};

// Returns `asked` with a number for each kAuto (base/field.h): a map for each core and half as many reduces, at least
// one of each and kMostSlots at most. They are fewer if the worker's memory does not give each slot what a task must be
// able to take (LeastShare in memory_share.h): as many as it does then, with two maps for each reduce, and one of each
// at least. A number that was asked for stays as it is, and what its tasks take is not there for the others.
// `cores` is at least 1; `memory`, what the worker may use, is 0 if it is not known, and limits nothing then.
[[nodiscard]] TaskSlots ResolveSlots(const TaskSlots& asked, std::uint64_t cores, std::uint64_t memory,
                                     std::uint64_t task_memory);

}  // namespace millrace::worker
