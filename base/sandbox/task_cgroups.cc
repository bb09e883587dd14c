// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/task_cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <sstream>

#include "base/text.h"

namespace millrace::sandbox {
namespace {

constexpr std::string_view kPrefix = "millrace-task-";

Status WriteTo(const std::string& path, const std::string& text) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_WRONLY));
  return WriteAll(file.get(), text, path);
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool Lists(std::string_view list, std::string_view wanted) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

// Returns the path of the process within the hierarchy, or nothing.
std::optional<std::string> PathIn(std::string_view cgroup, std::string_view controller) {
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : Lists(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Kills what is in the cgroup. With version 2 the kernel does it at once (from 5.14 on).
void KillIn(const std::string& directory) {
  if (WriteTo(directory + "/cgroup.kill", "1").ok()) return;
  const auto text = ReadWholeFile(directory + "/cgroup.procs");
  if (!text.ok()) return;
  std::istringstream pids(*text);
  for (pid_t pid = 0; pids >> pid;) kill(pid, SIGKILL);
}

void RemoveCgroup(const std::string& directory) {
  constexpr int kTries = 50;
  constexpr timespec kPause{0, 2'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (rmdir(directory.c_str()) == 0 || errno == ENOENT) return;
    KillIn(directory);
    nanosleep(&kPause, nullptr);
  }
}

// Removes what workers of this machine left behind that are gone: their number is in the name.
void RemoveAbandoned(const std::string& parent) {
  const auto names = ListDirectory(parent);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(kPrefix)) continue;
    pid_t worker = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), worker);
    if (worker > 0 && (kill(worker, 0) == 0 || errno != ESRCH)) continue;
    RemoveCgroup(parent + "/" + name);
  }
}

// Moves the worker out of its cgroup's way, and has the children limited.
Status MakeRoom(const std::string& own, const std::string& controllers) {
  const std::string control = own + "/cgroup.subtree_control";
  if (WriteTo(control, controllers).ok()) return Status::Ok();
  const std::string child = own + "/worker";
  if (mkdir(child.c_str(), 0755) != 0 && errno != EEXIST) return FromErrno(errno, "cannot make " + child);
  MILLRACE_TRY(WriteTo(child + "/cgroup.procs", "0"));
  const Fd file(open(control.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.valid() && write(file.get(), controllers.data(), controllers.size()) > 0) return Status::Ok();
  const int error = errno;
  if (WriteTo(own + "/cgroup.procs", "0").ok()) rmdir(child.c_str());
  if (error != EBUSY) return FromErrno(error, "cannot write " + control);
  return Unavailable("other processes are in the worker's cgroup; start the worker as a service, or by systemd-run " +
                     std::string("--scope --property=Delegate=yes"));
}

Result<std::string> FindVersion2(std::string_view cgroup, std::string_view mounts) {
  const std::string own = OwnCgroup(cgroup, mounts, "");
  if (own.empty()) return Unavailable("cgroups of version 2 are not mounted");
  const auto text = ReadWholeFile(own + "/cgroup.controllers");
  const std::string controllers = text.ok() ? ControllersFor(*text) : std::string();
  if (controllers.empty())
    return Unavailable(own + " has no controllers of memory and processes; under systemd, Delegate=yes gives them");
  MILLRACE_TRY(MakeRoom(own, controllers).Within("cannot limit the children of " + own));
  return own;
}

}  // namespace

std::string OwnCgroup(std::string_view cgroup, std::string_view mountinfo, std::string_view controller) {
  const std::optional<std::string> path = PathIn(cgroup, controller);
  if (!path) return {};
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // 36 35 98:0 /root /point options - type source options of the hierarchy
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> left = Words(line.substr(0, dash)), right = Words(line.substr(dash + 3));
    if (left.size() < 5 || right.size() < 3 || right[0] != (controller.empty() ? "cgroup2" : "cgroup")) continue;
    if (!controller.empty() && !Lists(right[2], controller)) continue;
    std::string below = *path == "/" ? "" : *path;
    const std::string root = left[3] == "/" ? "" : left[3];
    if (!below.starts_with(root) || (below.size() > root.size() && below[root.size()] != '/')) continue;
    return left[4] + below.substr(root.size());
  }
  return {};
}

std::string ControllersFor(std::string_view controllers) {
  const std::vector<std::string> there = Words(std::string(controllers));
  const auto has = [&](const char* controller) {
    return std::find(there.begin(), there.end(), controller) != there.end();
  };
  if (!has("memory") || !has("pids")) return {};
  return has("cpu") ? "+memory +pids +cpu" : "+memory +pids";
}

std::uint64_t OutOfMemoryKills(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string name;
  for (std::uint64_t number = 0; lines >> name >> number;) {
    if (name == "oom_kill") return number;
  }
  return 0;
}

bool TaskCgroup::RanOutOfMemory() const {
  for (const std::string& directory : directories_) {
    for (const char* file : {"/memory.events", "/memory.oom_control"}) {
      const auto text = ReadWholeFile(directory + file);
      if (text.ok() && OutOfMemoryKills(*text) > 0) return true;
    }
  }
  return false;
}

TaskCgroup::~TaskCgroup() {
  for (const std::string& directory : directories_) RemoveCgroup(directory);
}

Result<std::vector<Fd>> TaskCgroup::Doors() const {
  std::vector<Fd> doors;
  for (const std::string& directory : directories_) {
    MILLRACE_ASSIGN(Fd door, OpenFile(directory + "/cgroup.procs", O_WRONLY));
    doors.push_back(std::move(door));
  }
  return doors;
}

Result<std::unique_ptr<TaskCgroups>> TaskCgroups::Open() {
  MILLRACE_ASSIGN(const std::string cgroup, ReadWholeFile("/proc/self/cgroup"));
  MILLRACE_ASSIGN(const std::string mounts, ReadWholeFile("/proc/self/mountinfo"));
  std::unique_ptr<TaskCgroups> cgroups;
  const Result<std::string> unified = FindVersion2(cgroup, mounts);
  if (unified.ok()) {
    cgroups.reset(new TaskCgroups(2, {*unified}));
  } else {
    std::vector<std::string> parents;
    for (const char* controller : {"memory", "pids", "cpu"}) {
      const std::string own = OwnCgroup(cgroup, mounts, controller);
      if (own.empty()) return unified.status();
      parents.push_back(own);
    }
    cgroups.reset(new TaskCgroups(1, std::move(parents)));
  }
  for (const std::string& parent : cgroups->parents_) RemoveAbandoned(parent);
  MILLRACE_TRY(cgroups->Make(~std::uint64_t{0}, {std::uint64_t{1} << 30, 64}).status());
  return cgroups;
}

Result<TaskCgroup> TaskCgroups::Make(std::uint64_t serial, const CgroupLimits& limits) {
  std::vector<std::string> made;
  for (const std::string& parent : parents_) {
    const std::string directory = fmt::format("{}/{}{}-{}", parent, kPrefix, getpid(), serial);
    if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
      const Status failed = FromErrno(errno, "cannot make " + directory);
      for (const std::string& earlier : made) RemoveCgroup(earlier);
      return failed;
    }
    made.push_back(directory);
  }
  TaskCgroup cgroup(std::move(made), limits.memory);
  for (const std::string& directory : cgroup.directories()) MILLRACE_TRY(Limit(directory, limits));
  return cgroup;
}

// It is not a failure if this kernel has no limit of swap.
Status TaskCgroups::Limit(const std::string& directory, const CgroupLimits& limits) const {
  const auto has = [&](const char* file) { return access((directory + "/" + file).c_str(), W_OK) == 0; };
  const auto set = [&](const char* file, std::uint64_t value) {
    if (value == 0 || !has(file)) return Status::Ok();
    return WriteTo(directory + "/" + file, std::to_string(value));
  };
  MILLRACE_TRY(set("memory.max", limits.memory));
  MILLRACE_TRY(set("memory.limit_in_bytes", limits.memory));
  if (has("memory.swap.max")) MILLRACE_TRY(WriteTo(directory + "/memory.swap.max", "0"));
  if (has("memory.oom.group")) MILLRACE_TRY(WriteTo(directory + "/memory.oom.group", "1"));
  MILLRACE_TRY(set("pids.max", limits.processes));
  MILLRACE_TRY(set("cpu.weight", 100));
  return set("cpu.shares", 1024);
}

}  // namespace millrace::sandbox
