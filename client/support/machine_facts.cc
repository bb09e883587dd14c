// SPDX-License-Identifier: Apache-2.0
#include "client/support/machine_facts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/clock.h"
#include "base/console/console.h"
#include "base/file.h"
#include "base/machine_size.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::support {
namespace {

// The first bytes of a file of /proc or /sys; nothing if it cannot be read.
std::string Head(const std::string& path, std::size_t most = 4096) {
  const Result<std::string> text = ReadWholeFile(path);
  return text.ok() ? text->substr(0, most) : "";
}

std::string Named(const std::string& name, std::string value) {
  while (value.ends_with("\n")) value.pop_back();
  return name + ": " + value + "\n";
}

std::string LimitText(const char* name, int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return "";
  const auto text = [](rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); };
  return Named(std::string("limit of ") + name, text(limit.rlim_cur) + ", hard " + text(limit.rlim_max));
}

}  // namespace

std::string SystemText() {
  utsname kernel{};
  std::string text;
  if (::uname(&kernel) == 0) {
    text += Named("host", kernel.nodename);
    text += Named("kernel",
                  std::string(kernel.sysname) + " " + kernel.release + " " + kernel.version + " " + kernel.machine);
  }
  std::string release = Head("/etc/os-release");
  const std::size_t at = release.find("PRETTY_NAME=");
  if (at != std::string::npos) text += Named("system", release.substr(at + 12, release.find('\n', at) - at - 12));
  struct sysinfo facts {};
  if (::sysinfo(&facts) == 0) text += Named("up", FormatDuration(Micros{facts.uptime} * kSecond));
  text += Named("load", Head("/proc/loadavg"));
  text += Named("memory for this process", FormatBytes(MachineMemory()));
  text += Named("cores for this process", Formatted("%.2f", CoresOfMachine().count));
  text += LimitText("open files", RLIMIT_NOFILE) + LimitText("processes", RLIMIT_NPROC) +
          LimitText("locked memory", RLIMIT_MEMLOCK);
  return text + "\n" + Head("/proc/meminfo");
}

std::string CgroupsText(const std::string& root) {
  const std::string controllers = Head(root + "/sys/fs/cgroup/cgroup.controllers");
  std::string text = Named("version", controllers.empty() ? "1, or none" : "2");
  if (!controllers.empty()) text += Named("controllers", controllers);
  const std::string own = Head(root + "/proc/self/cgroup");
  text += Named("of this process", own);
  const std::size_t at = own.find("0::/");
  if (at == std::string::npos) return text;
  const std::string group = root + "/sys/fs/cgroup" + own.substr(at + 3, own.find('\n', at) - at - 3);
  for (const char* file : {"memory.max", "memory.current", "cpu.max", "pids.max", "cpuset.cpus.effective"}) {
    if (const std::string value = Head(group + "/" + file); !value.empty()) text += Named(file, value);
  }
  return text;
}

std::string ClockText() {
  timex state{};
  const int kernel = ::adjtimex(&state);
  std::string text = Named("time of this machine (UTC)", console::FormatTime(SystemClock().Now()));
  if (kernel < 0) return text + Named("the kernel's clock", "not known");
  text += Named("the kernel's clock", (state.status & STA_UNSYNC) != 0 ? "not synchronized" : "synchronized");
  return text + Named("largest error, as the kernel estimates it", std::to_string(state.maxerror) + " us");
}

std::string DisksText(const std::vector<std::string>& paths) {
  std::string text = console::Right("SIZE", 10) + console::Right("USED", 11) + console::Right("FREE", 11) +
                     console::Right("INODES FREE", 13) + "  PATH\n";
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    if (path.empty() || !seen.insert(path).second) continue;
    struct statvfs disk {};
    if (::statvfs(path.c_str(), &disk) != 0) {
      text += Printable(path) + ": " + FromErrno(errno, "look at it").message() + "\n";
      continue;
    }
    const std::uint64_t unit = disk.f_frsize;
    text += console::Right(FormatBytes(disk.f_blocks * unit), 10) +
            console::Right(FormatBytes((disk.f_blocks - disk.f_bfree) * unit), 11) +
            console::Right(FormatBytes(disk.f_bavail * unit), 11) + console::Right(std::to_string(disk.f_favail), 13) +
            ((disk.f_flag & ST_RDONLY) != 0 ? "  (read-only) " : "  ") + Printable(path) + "\n";
  }
  return text;
}

Result<std::string> TailOf(const std::string& path, uid_t owner, std::size_t lines, std::size_t bytes) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return FromErrno(errno, "look at " + Quote(path));
  if (!S_ISREG(facts.st_mode)) return Denied("read " + Quote(path) + ": it is no regular file");
  if (facts.st_uid != owner) return Denied("read " + Quote(path) + ": it belongs to another user than its daemon");
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(file.get(), path));
  const std::uint64_t length = std::min<std::uint64_t>(size, bytes);
  std::string text(length, '\0');
  MILLRACE_TRY(ReadExactlyAt(file.get(), text.data(), text.size(), size - length, path));
  if (length < size) text.erase(0, text.find('\n') + 1);  // a line without its beginning
  return std::string(LastLines(text, lines));
}

}  // namespace millrace::support
