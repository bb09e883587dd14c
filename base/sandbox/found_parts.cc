// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/found_parts.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>

namespace millrace::sandbox {
namespace {

constexpr Part kNamespaces[] = {Part::kMounts, Part::kProcesses, Part::kIpc, Part::kNetwork};

}  // namespace

bool IsPrivileged() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  const auto has = [&](unsigned capability) { return (data[capability / 32].effective >> capability % 32 & 1) != 0; };
  return has(CAP_SYS_ADMIN) && has(CAP_SETUID) && has(CAP_SETGID) && has(CAP_CHOWN) && has(CAP_DAC_OVERRIDE) &&
         has(CAP_FOWNER) && has(CAP_KILL) && has(CAP_SYS_PTRACE);
}

void FoundParts::Drop(Part part, const std::string& why) {
  if (!settings_.parts.Has(part)) return;
  settings_.parts.Remove(part);
  missing_.emplace(part, why);
  const std::string name(ToText(part));
  if (part == Part::kMounts) Drop(Part::kUser, "without " + name + " a job's user cannot reach its own files");
  if (part == Part::kFilter) Drop(Part::kNetwork, "without " + name + " nothing could reach the file system");
}

Status FoundParts::Find(const std::function<Result<std::string>()>& attempt, const std::string& advice) {
  std::string failed;
  for (std::size_t tries = 0; tries <= std::size(kAllParts); ++tries) {
    MILLRACE_ASSIGN(failed, attempt());
    if (failed.empty()) return Status::Ok();
    const std::size_t colon = failed.find(": ");
    const std::string what = failed.substr(0, colon);
    if (what == "namespaces" && NamespacesOf(settings_, {}) != 0) {
      for (const Part namespaced : kNamespaces) Drop(namespaced, failed.substr(colon + 2));
      continue;
    }
    const auto part = ParsePart(what);
    if (!part || !settings_.parts.Has(*part)) break;
    Drop(*part, failed.substr(colon + 2));
  }
  return Internal("no confined process can be started: " + failed + advice);
}

std::string FoundParts::Describe() const {
  std::string without;
  for (const auto& [part, why] : missing_) {
    without += (without.empty() ? "; without " : ", ") + std::string(ToText(part)) + " (" + why + ")";
  }
  return ToText(settings_.parts) + without;
}

}  // namespace millrace::sandbox
