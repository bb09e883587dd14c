#include "worker/daemon/process/task_slots.h"

#include <algorithm>

#include "base/field.h"
#include "worker/daemon/process/memory_share.h"

namespace millrace::worker {

TaskSlots ResolveSlots(const TaskSlots& asked, std::uint64_t cores, std::uint64_t memory, std::uint64_t task_memory) {
  const auto most = static_cast<std::int64_t>(std::min<std::uint64_t>(cores, kMostSlots));
  TaskSlots slots{asked.maps == kAuto ? std::max<std::int64_t>(1, most) : asked.maps,
                  asked.reduces == kAuto ? std::max<std::int64_t>(1, most / 2) : asked.reduces};
  if (memory == 0) return slots;
  const auto room = static_cast<std::int64_t>(MemoryForTasks(memory) / LeastShare(task_memory));
  if (slots.maps + slots.reduces <= room) return slots;
  if (asked.maps == kAuto && asked.reduces == kAuto) {
    slots.reduces = std::clamp<std::int64_t>(room / 3, 1, slots.reduces);
    slots.maps = std::clamp<std::int64_t>(room - slots.reduces, 1, slots.maps);
  } else if (asked.maps == kAuto) {
    slots.maps = std::clamp<std::int64_t>(room - slots.reduces, 1, slots.maps);
  } else if (asked.reduces == kAuto) {
    slots.reduces = std::clamp<std::int64_t>(room - slots.maps, 1, slots.reduces);
  }
  return slots;
}

}  // namespace millrace::worker
