// SPDX-License-Identifier: Apache-2.0
// FoundParts finds out by trial which parts of the sandbox (sandbox.h) this machine supports: what fails for a process
// that does nothing is left out, until such a process starts. Thread rule: one thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/sandbox/sandbox.h"
#include "base/status.h"

namespace millrace::sandbox {

// Returns true if this process may change users, make namespaces and end processes of other users.
[[nodiscard]] bool IsPrivileged();

class FoundParts {
 public:
  explicit FoundParts(SandboxSettings settings) : settings_(std::move(settings)) {}

  // Leaves out the part, if it is there, and those that are of no use without it.
  void Drop(Part part, const std::string& why);
  // Calls `attempt`, which starts a process by settings() that does nothing, and drops the part that failed, until none
  // does. `attempt` returns the part and why it failed ("mounts: ..."), "namespaces: ..." if no namespaces could be
  // made, and an empty text if the process started. Returns kInternal if something else fails, which `advice` follows.
  [[nodiscard]] Status Find(const std::function<Result<std::string>()>& attempt, const std::string& advice);

  [[nodiscard]] const SandboxSettings& settings() const { return settings_; }
  [[nodiscard]] const Parts& parts() const { return settings_.parts; }
  [[nodiscard]] const std::map<Part, std::string>& missing() const { return missing_; }  // with the reasons
  // Returns a line for people: "user, mounts; without cgroup (...)".
  [[nodiscard]] std::string Describe() const;

 private:
  SandboxSettings settings_;
  std::map<Part, std::string> missing_;
};

}  // namespace millrace::sandbox
