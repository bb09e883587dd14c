// SPDX-License-Identifier: Apache-2.0
// Alone starts programs that nobody trusts, with which one speaks by lines of text alone (base/line_child.h). Such a
// program sees the system's files, its own and those that it was given, none of them to be changed; a /tmp of its own
// that goes with it; no process but its own; and no socket but pairs. It has a bound on its memory and on its number of
// processes, all of which end with it, and is the first that the kernel ends when the machine runs out of memory. The
// parts are those of the sandbox (sandbox.h).
//
// Which parts this machine supports is found by trial, as for tasks. What matters is then tried as well: a process that
// was started in this way tries to reach its parent, a file of its parent's and the network. No program is started if
// it can. Thread rule: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/line_child.h"
#include "base/sandbox/found_parts.h"
#include "base/sandbox/task_cgroups.h"
#include "base/status.h"

namespace millrace::sandbox {

struct AloneOptions {
  std::string directory = {};            // of millrace-launch and millrace-minder
  std::vector<std::string> hidden = {};  // directories of the system that programs may not read, such as /etc/millrace
  std::vector<std::string> readable = {};  // files and directories that programs may read in addition to the system's
  std::uint64_t memory = std::uint64_t{512} << 20;    // bytes, of each process; 0: no bound
  std::uint64_t processes = 64;                       // processes and threads
  std::uint64_t tmp_bytes = std::uint64_t{64} << 20;  // the size of /tmp
  bool cgroups = false;                               // this process may divide its cgroup (task_cgroups.h)
  std::vector<std::string> variables = {};            // of its environment, beside the plain ones
};

class Alone {
 public:
  // Returns kUnsupported, which says what a program could reach and why, if this machine cannot keep programs alone.
  [[nodiscard]] static Result<std::unique_ptr<Alone>> Open(AloneOptions options);

  // Starts argv[0], which is looked up in PATH if it has no slash. `files` may be read besides. Messages call the
  // program by the name. Fails if it cannot be started as described.
  [[nodiscard]] Result<std::unique_ptr<LineChild>> Start(const std::string& name, std::vector<std::string> argv,
                                                         const std::vector<std::string>& files) const;

  // Returns a line for people: "mounts, processes, ipc, network, filter, landlock; without user (...)".
  [[nodiscard]] std::string Describe() const { return found_.Describe(); }

 private:
  Alone(AloneOptions options, SandboxSettings settings) : options_(std::move(options)), found_(std::move(settings)) {}
  // Starts a process that tries what it can reach, and adds that to *reach: "signal its parent".
  [[nodiscard]] Result<std::string> Try(std::vector<std::string>* reach);

  const AloneOptions options_;
  FoundParts found_;
  std::string filter_;
  std::unique_ptr<TaskCgroups> cgroups_;
  mutable std::atomic<std::uint64_t> serial_ = 0;
};

}  // namespace millrace::sandbox
