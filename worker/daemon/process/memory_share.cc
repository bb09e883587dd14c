#include "worker/daemon/process/memory_share.h"

#include <algorithm>

#include "base/units.h"

namespace millrace::worker {

std::uint64_t MemoryShare(std::uint64_t memory, std::uint64_t slots, std::uint64_t task_memory) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  if (memory == 0) return 0;
  const std::uint64_t aside = std::min(memory, std::max(memory / 10, 256 * kMiB));
  return std::max((memory - aside) / std::max<std::uint64_t>(slots, 1), 2 * task_memory + 512 * kMiB);
}

Result<MemoryLimits> ReadMemoryLimit(const std::string& option, std::uint64_t share) {
  if (option == "auto") return MemoryLimits{0, share};
  const Result<std::uint64_t> bound = ParseBytes(option);
  if (!bound.ok()) return bound.status().Within("task.memory_limit is neither auto nor a number of bytes");
  return MemoryLimits{*bound, 0};
}

}  // namespace millrace::worker
