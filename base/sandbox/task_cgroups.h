// SPDX-License-Identifier: Apache-2.0
// TaskCgroups makes a cgroup for each task process, below that of the worker, with limits on memory and on the number
// of processes and an equal share of the processor. The unified hierarchy (version 2) is used where it has these
// controllers, as under systemd with Delegate=yes; otherwise the hierarchies of version 1.
//
// Version 2 allows no processes in a cgroup that has children with limits, so the worker moves itself into a child
// called "worker". It needs a cgroup of its own for that, such as a service or a scope of systemd, since it moves no
// other process. Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

struct CgroupLimits {
  std::uint64_t memory = 0;     // bytes, of everything: private memory, files in memory (/tmp), cached files; 0: none
  std::uint64_t processes = 0;  // processes and threads; 0: any number
};

// The cgroup of one task process. The destructor kills the processes that are left in the cgroup and removes it.
class TaskCgroup {
 public:
  TaskCgroup(std::vector<std::string> directories, std::uint64_t memory)
      : directories_(std::move(directories)), memory_(memory) {}
  TaskCgroup(TaskCgroup&& other) noexcept : directories_(std::move(other.directories_)), memory_(other.memory_) {
    other.directories_.clear();
  }
  TaskCgroup& operator=(TaskCgroup&&) = delete;
  ~TaskCgroup();
  // Opens the files through which a process enters the cgroup, one for each hierarchy. To enter, the process writes "0"
  // into them.
  [[nodiscard]] Result<std::vector<Fd>> Doors() const;
  // Returns true if the kernel killed processes in the cgroup because together they took more memory than the limit.
  [[nodiscard]] bool RanOutOfMemory() const;
  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }
  [[nodiscard]] std::uint64_t memory() const { return memory_; }  // the limit in bytes; 0: none

 private:
  std::vector<std::string> directories_;
  std::uint64_t memory_;
};

class TaskCgroups {
 public:
  // Finds the worker's cgroup from /proc/self/cgroup and /proc/self/mountinfo, tries to make children, and removes the
  // children that earlier workers left. The error names what this machine lacks.
  static Result<std::unique_ptr<TaskCgroups>> Open();

  [[nodiscard]] Result<TaskCgroup> Make(std::uint64_t serial, const CgroupLimits& limits);
  [[nodiscard]] int version() const { return version_; }

 private:
  TaskCgroups(int version, std::vector<std::string> parents) : version_(version), parents_(std::move(parents)) {}
  Status Limit(const std::string& directory, const CgroupLimits& limits) const;

  int version_;
  std::vector<std::string> parents_;  // the directories of the worker's own cgroup
};

// Returns the directory of the calling process's cgroup in a hierarchy, from the two texts of /proc; empty if there is
// no such hierarchy or it is not mounted. `controller` names the hierarchy of version 1; if it is empty, the hierarchy
// is that of version 2. Pure.
[[nodiscard]] std::string OwnCgroup(std::string_view cgroup, std::string_view mountinfo, std::string_view controller);

// Returns the text to write to cgroup.subtree_control, given the text of cgroup.controllers: memory and processes, and
// the share of the processor if that controller is available (systemd gives it to services, but not to sessions).
// Returns an empty text if memory or processes cannot be limited. Pure.
[[nodiscard]] std::string ControllersFor(std::string_view controllers);

// Returns the number of processes that the kernel killed for lack of memory, from the text of memory.events (version 2)
// or memory.oom_control (version 1). Pure.
[[nodiscard]] std::uint64_t OutOfMemoryKills(std::string_view text);

}  // namespace millrace::sandbox
