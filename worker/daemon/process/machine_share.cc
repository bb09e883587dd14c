// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/machine_share.h"

#include <algorithm>

#include "base/field.h"
#include "base/units.h"

namespace millrace::worker {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

std::uint64_t MemoryForTasks(std::uint64_t memory) {
  return memory - std::min(memory, std::max(memory / 10, 256 * kMiB));
}

std::uint64_t LeastShare(std::uint64_t task_memory) { return 2 * task_memory + 512 * kMiB; }

std::uint64_t MemoryShare(std::uint64_t memory, std::uint64_t slots, std::uint64_t task_memory) {
  if (memory == 0) return 0;
  return std::max(MemoryForTasks(memory) / std::max<std::uint64_t>(slots, 1), LeastShare(task_memory));
}

Result<MemoryLimits> ReadMemoryLimit(const std::string& option, std::uint64_t share) {
  if (option == "auto") return MemoryLimits{0, share};
  const Result<std::uint64_t> bound = ParseBytes(option);
  if (!bound.ok()) return bound.status().Within("task.memory_limit is neither auto nor a number of bytes");
  return MemoryLimits{*bound, 0};
}

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
