#include "base/machine_size.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>

namespace millrace {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the number at the beginning; kNoLimit if there is none, or it says "max" or "-1".
std::uint64_t NumberIn(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : kNoLimit;
}

// Returns the number with which the file begins; kNoLimit if it is not there, or says "max".
std::uint64_t LimitIn(const std::string& path) { return NumberIn(FirstLine(path)); }

// Returns whole cores; kNoLimit if it does not limit them.
std::uint64_t CoresOf(std::uint64_t quota, std::uint64_t period) {
  return quota == kNoLimit || period == kNoLimit || period == 0 ? kNoLimit : quota / period;
}

// "150000 100000": so many microseconds in each period of so many.
std::uint64_t CoresInVersion2(const std::string& group) {
  const std::string line = FirstLine(group + "/cpu.max");
  const std::size_t blank = line.find(' ');
  return blank == std::string::npos ? kNoLimit
                                    : CoresOf(NumberIn(line), NumberIn(std::string_view(line).substr(blank + 1)));
}

std::uint64_t CoresInVersion1(const std::string& group) {
  return CoresOf(LimitIn(group + "/cpu.cfs_quota_us"), LimitIn(group + "/cpu.cfs_period_us"));
}

std::uint64_t MemoryInVersion2(const std::string& group) { return LimitIn(group + "/memory.max"); }
std::uint64_t MemoryInVersion1(const std::string& group) { return LimitIn(group + "/memory.limit_in_bytes"); }

using LimitOf = std::uint64_t (*)(const std::string& group);

// A group is bound by those above it, too. Inside of a container the path may name a group that is not to be seen, and
// the root is the container's own.
std::uint64_t LeastOf(const std::string& mount, std::string group, LimitOf limit) {
  std::uint64_t least = limit(mount);
  for (; group.size() > 1; group.erase(group.rfind('/'))) least = std::min(least, limit(mount + group));
  return least;
}

// Version 1 has a hierarchy for each controller.
std::uint64_t GroupLimit(const std::string& root, const std::string& controller, LimitOf version2, LimitOf version1) {
  std::uint64_t least = kNoLimit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "5:memory:/docker/1a2b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers.empty()) least = std::min(least, LeastOf(root + "/sys/fs/cgroup", group, version2));
    if (("," + controllers + ",").find("," + controller + ",") != std::string::npos)
      least = std::min(least, LeastOf(root + "/sys/fs/cgroup/" + controller, group, version1));
  }
  return least;
}

// A machine may have more cores than a cpu_set_t has bits for.
std::uint64_t AllowedCores() {
  constexpr int kMostCores = 1 << 16;
  cpu_set_t* const set = CPU_ALLOC(kMostCores);
  if (set == nullptr) return 1;
  const std::size_t size = CPU_ALLOC_SIZE(kMostCores);
  const int count = ::sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 1;
  CPU_FREE(set);
  return static_cast<std::uint64_t>(std::max(1, count));
}

}  // namespace

std::uint64_t MachineMemory(const std::string& root) {
  constexpr std::string_view kTotal = "MemTotal:";
  std::uint64_t total = 0;
  std::ifstream info(root + "/proc/meminfo");
  for (std::string line; total == 0 && std::getline(info, line);) {  // "MemTotal:   16309512 kB"
    if (!line.starts_with(kTotal)) continue;
    const std::size_t digits = std::min(line.find_first_not_of(' ', kTotal.size()), line.size());
    std::from_chars(line.data() + digits, line.data() + line.size(), total);
    total <<= 10;
  }
  return total == 0 ? 0 : std::min(total, GroupLimit(root, "memory", MemoryInVersion2, MemoryInVersion1));
}

std::uint64_t MachineCores() { return MachineCores(AllowedCores(), ""); }

std::uint64_t MachineCores(std::uint64_t allowed, const std::string& root) {
  return std::max<std::uint64_t>(1, std::min(allowed, GroupLimit(root, "cpu", CoresInVersion2, CoresInVersion1)));
}

}  // namespace millrace
