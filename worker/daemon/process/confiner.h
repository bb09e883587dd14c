// SPDX-License-Identifier: Apache-2.0
// Confiner puts the task processes of a worker into the sandbox (base/sandbox/sandbox.h). When it is made, it finds
// out by trial which parts of the sandbox this machine supports: it starts a process that does nothing, first with
// every part, and leaves out the parts that fail until a process starts.
//
//   worker.sandbox = auto      the parts that this machine supports; missing parts are reported
//                    require   all parts, or the worker does not start
//                    off       none
//
// Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/log.h"
#include "base/sandbox/found_parts.h"
#include "base/sandbox/task_cgroups.h"
#include "base/status.h"
#include "worker/daemon/process/spawn.h"
#include "worker/sandbox/socket_gate.h"

namespace millrace::worker {

enum class TaskNetwork { kNever, kAsked, kAlways };  // kAsked: for jobs that set task.network = true

struct ConfinerOptions {
  bool required = false;
  std::string launcher, minder;
  sandbox::UserRange users;
  std::vector<std::string> readable, hidden;
  std::uint64_t tmp_bytes = std::uint64_t{1} << 30;
  std::uint64_t processes = 1024;
  TaskNetwork network = TaskNetwork::kAsked;
  sandbox::PeerList* peers = nullptr;  // the peers that tasks may reach; outlives the Confiner
};

class Confiner {
 public:
  // The means for starting one process.
  struct Confined {
    Launch launch;
    std::optional<sandbox::TaskCgroup> cgroup;  // destroyed when the process has ended
    std::optional<uid_t> user;
    sandbox::PeerList* peers = nullptr;  // for its SocketGate
  };

  // Returns kUnavailable, naming the missing parts and why they are missing, if all parts are required and some are
  // missing; kInternal if no process can be started.
  static Result<std::unique_ptr<Confiner>> Open(ConfinerOptions options);

  // `memory` is the number of bytes that the process itself may take; its cgroup adds room for files. 0 means no limit.
  // Requires: the directories that `place` names exist.
  [[nodiscard]] Result<Confined> Confine(const sandbox::JobPlace& place, std::uint64_t serial, std::uint64_t memory);

  [[nodiscard]] const sandbox::Parts& parts() const { return found_.parts(); }
  [[nodiscard]] const std::map<sandbox::Part, std::string>& missing() const {
    return found_.missing();
  }  // with the reasons
  // Returns the range of the jobs' users, if jobs have users of their own.
  [[nodiscard]] std::optional<sandbox::UserRange> users() const;
  // Returns what sandbox::ReadableByAll returns for the worker's tasks.
  [[nodiscard]] std::optional<std::vector<std::string>> readable_by_all() const {
    return sandbox::ReadableByAll(found_.settings());
  }
  [[nodiscard]] bool MayUseNetwork(bool asks) const;
  // Returns a line for people: "user, mounts; without cgroup (...)".
  [[nodiscard]] std::string Describe() const { return found_.Describe(); }

 private:
  explicit Confiner(ConfinerOptions options);
  void Look();  // leaves out parts that are known to be missing
  // Starts a process that does nothing. Returns the step that failed; empty if none did.
  Result<std::string> Try();

  ConfinerOptions options_;
  sandbox::FoundParts found_;
  std::unique_ptr<sandbox::TaskCgroups> cgroups_;
  std::string filter_, asking_filter_;
};

}  // namespace millrace::worker
