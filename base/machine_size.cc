// SPDX-License-Identifier: Apache-2.0
#include "base/machine_size.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <memory>
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

// Returns the cores that a time in each period comes to; kNoLimit as a number if the time is not limited.
double CoresFor(std::uint64_t time, std::uint64_t period) {
  if (time == 0 || time >= kNoLimit / 2 || period == 0 || period == kNoLimit) return static_cast<double>(kNoLimit);
  return static_cast<double>(time) / static_cast<double>(period);
}

// Reads the limit of version 2: "150000 100000", or "max 100000".
double CoresInVersion2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  std::uint64_t time = 0, period = 0;
  return file >> time >> period ? CoresFor(time, period) : static_cast<double>(kNoLimit);
}

double CoresInVersion1(const std::string& group) {
  return CoresFor(LimitIn(group + "/cpu.cfs_quota_us"), LimitIn(group + "/cpu.cfs_period_us"));
}

// Returns the least limit of a group and of those above it, which bind it, too. Inside of a container the
// path may name a group that is not to be seen, and the root is the container's own.
template <class Limit>
auto LeastOf(const std::string& mount, std::string group, const Limit& limit) {
  auto least = limit(mount);
  for (; group.size() > 1; group.erase(group.rfind('/'))) least = std::min(least, limit(mount + group));
  return least;
}

// Calls `version2` or `version1` with the place of each control group that may bind the process, and its path there.
template <class Version2, class Version1>
void ForEachGroup(const std::string& root, std::string_view controller, const Version2& version2,
                  const Version1& version1) {
  const std::string wanted = "," + std::string(controller) + ",";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "5:memory:/docker/1a2b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers.empty()) version2(root + "/sys/fs/cgroup", group);
    if (("," + controllers + ",").find(wanted) != std::string::npos)
      version1(root + "/sys/fs/cgroup/" + std::string(controller), group);
  }
}

std::uint64_t GroupLimit(const std::string& root) {
  std::uint64_t least = kNoLimit;
  const auto bind = [&least](const char* name) {
    return [&least, name](const std::string& mount, const std::string& group) {
      const auto limit = [name](const std::string& place) { return LimitIn(place + "/" + name); };
      least = std::min(least, LeastOf(mount, group, limit));
    };
  };
  ForEachGroup(root, "memory", bind("memory.max"), bind("memory.limit_in_bytes"));
  return least;
}

double GroupCores(const std::string& root) {
  auto least = static_cast<double>(kNoLimit);
  const auto bind = [&least](double (*limit)(const std::string&)) {
    return [&least, limit](const std::string& mount, const std::string& group) {
      least = std::min(least, LeastOf(mount, group, limit));
    };
  };
  ForEachGroup(root, "cpu", bind(CoresInVersion2), bind(CoresInVersion1));
  return least;
}

// Returns on how many cores the system places this process; 0 if it does not say.
unsigned Affinity() {
  constexpr int kMostCores = 1 << 16;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kMostCores), [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t size = CPU_ALLOC_SIZE(kMostCores);
  if (set == nullptr || ::sched_getaffinity(0, size, set.get()) != 0) return 0;
  return static_cast<unsigned>(CPU_COUNT_S(size, set.get()));
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

MachineCores CoresOfMachine(const std::string& root, unsigned affinity, unsigned online) {
  if (affinity == 0) affinity = Affinity();
  if (online == 0) online = static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
  MachineCores cores{std::min(static_cast<double>(affinity), GroupCores(root)), ""};
  if (cores.count < online || cores.count == 0) return cores;
  std::ifstream boot(root + "/proc/sys/kernel/random/boot_id");
  std::getline(boot, cores.shared_as);
  return cores;
}

Result<std::uint64_t> FreeBytes(const std::string& path) {
  struct statvfs disk = {};
  if (::statvfs(path.c_str(), &disk) != 0) return FromErrno(errno, "find the free space in " + path);
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

}  // namespace millrace
