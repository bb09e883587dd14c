// SPDX-License-Identifier: Apache-2.0
// The sandbox limits what a job's process may see and do. It consists of parts, each of which a machine may or may not
// support:
//
//   user       the process runs as a unix user of its job's own, never as root and never as the worker
//   mounts     it sees /usr, /lib, /etc, ... read-only, a /tmp and a /dev of its own, and its job's directories; no
//              state of the worker or the master, no certificates, no blocks, no other job
//   processes  it sees and reaches no process but its own (a process namespace), and none of these survives its end
//   ipc        it has System V objects, message queues and a host name of its own
//   network    sockets reach the master, the cluster's bulk servers and no other address (socket_gate.h)
//   filter     dangerous system calls fail with EPERM (call_filter.h)
//   landlock   Landlock also limits what it may read and write (kernel 5.13 and later)
//   cgroup     memory, number of processes and share of the processor (task_cgroups.h)
//
// This header plans the sandbox. The program millrace-launch sets it up after the start of a process, before it
// executes the job's executable. Thread rule: values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/sandbox/launch_order.h"
#include "base/status.h"

namespace millrace::sandbox {

enum class Part { kUser, kMounts, kProcesses, kIpc, kNetwork, kFilter, kLandlock, kCgroup };
inline constexpr Part kAllParts[] = {Part::kUser,    Part::kMounts, Part::kProcesses, Part::kIpc,
                                     Part::kNetwork, Part::kFilter, Part::kLandlock,  Part::kCgroup};
[[nodiscard]] std::string_view ToText(Part part);
[[nodiscard]] std::optional<Part> ParsePart(std::string_view text);

// A set of parts.
class Parts {
 public:
  [[nodiscard]] static Parts All();
  [[nodiscard]] bool Has(Part part) const { return (bits_ >> static_cast<unsigned>(part) & 1) != 0; }
  void Add(Part part) { bits_ |= 1U << static_cast<unsigned>(part); }
  void Remove(Part part) { bits_ &= ~(1U << static_cast<unsigned>(part)); }
  [[nodiscard]] bool empty() const { return bits_ == 0; }
  bool operator==(const Parts&) const = default;

 private:
  std::uint32_t bits_ = 0;
};
[[nodiscard]] std::string ToText(const Parts& parts);  // "user, mounts, filter"; "none"

// Unix users for jobs, from `first` on.
struct UserRange {
  uid_t first = 0;
  std::uint32_t count = 0;
};
// Reads a range such as "70000-99999". Returns kInvalid if the text is not a range, or if the range contains 0 or the
// last number, which stands for no user.
[[nodiscard]] Result<UserRange> ParseUserRange(std::string_view text);
// Returns the job's user. Two jobs of one cluster share a user only if their numbers lie a multiple of `count` apart.
[[nodiscard]] uid_t UserOf(const UserRange& users, JobId job);

// The settings for all task processes of a worker.
struct SandboxSettings {
  Parts parts;
  bool privileged = false;  // the worker may make namespaces and change users; otherwise a user namespace is needed
  UserRange users;
  std::vector<std::string> readable;  // files and directories that tasks may read in addition to the system's
  std::vector<std::string> hidden;    // directories of the system that tasks may not read, such as /etc/millrace
  std::uint64_t tmp_bytes = 0;        // the size of /tmp
  std::uint64_t processes = 0;        // the most processes and threads of one task
};

// The places and the rights of a job.
struct JobPlace {
  JobId job;
  std::string executable;
  std::vector<std::string> readable;  // the job's directories, which exist
  std::vector<std::string> writable;  // the directories that the job may also change; they may lie in a readable one
  bool network = false;               // the job may use the network without limits
};

// Returns the files and directories of the machine that every task may read; nothing if tasks may read whatever their
// user may.
[[nodiscard]] std::optional<std::vector<std::string>> ReadableByAll(const SandboxSettings& settings);

// Returns the order for millrace-launch to start a process of the job. Pure: it looks at no file.
[[nodiscard]] LaunchOrder PlanLaunch(const SandboxSettings& settings, const JobPlace& place);

// Returns the flags of clone(2) with which millrace-launch must be started for a process of the job.
[[nodiscard]] int NamespacesOf(const SandboxSettings& settings, const JobPlace& place);

}  // namespace millrace::sandbox
