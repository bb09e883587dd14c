#include "base/machine_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>

namespace millrace {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Returns the number with which the file begins; kNoLimit if it is not there, or says "max".
std::uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), limit);
  return error == std::errc() ? limit : kNoLimit;
}

// A group is bound by those above it, too. Inside of a container the path may name a group that is not to be seen, and
// the root is the container's own.
std::uint64_t LeastOf(const std::string& mount, std::string group, const std::string& file) {
  std::uint64_t least = LimitIn(mount + "/" + file);
  for (; group.size() > 1; group.erase(group.rfind('/'))) least = std::min(least, LimitIn(mount + group + "/" + file));
  return least;
}

std::uint64_t GroupLimit(const std::string& root) {
  std::uint64_t least = kNoLimit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "5:memory:/docker/1a2b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers.empty()) least = std::min(least, LeastOf(root + "/sys/fs/cgroup", group, "memory.max"));
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      least = std::min(least, LeastOf(root + "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return least;
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
  return total == 0 ? 0 : std::min(total, GroupLimit(root));
}

}  // namespace millrace
