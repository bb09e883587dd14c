// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/sandbox.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/text.h"

namespace millrace::sandbox {
namespace {

constexpr std::string_view kPartNames[] = {"user",    "mounts", "processes", "ipc",
                                           "network", "filter", "landlock",  "cgroup"};
static_assert(std::size(kPartNames) == std::size(kAllParts));

// The files of a system that programs need.
constexpr std::string_view kSystem[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt"};

std::vector<std::string> SystemAnd(const std::vector<std::string>& more) {
  std::vector<std::string> places(std::begin(kSystem), std::end(kSystem));
  places.insert(places.end(), more.begin(), more.end());
  return places;
}

}  // namespace

std::string_view ToText(Part part) { return kPartNames[static_cast<std::size_t>(part)]; }

std::optional<Part> ParsePart(std::string_view text) {
  const auto* const found = std::find(std::begin(kPartNames), std::end(kPartNames), text);
  if (found == std::end(kPartNames)) return std::nullopt;
  return kAllParts[found - std::begin(kPartNames)];
}

Parts Parts::All() {
  Parts all;
  for (const Part part : kAllParts) all.Add(part);
  return all;
}

std::string ToText(const Parts& parts) {
  std::string text;
  for (const Part part : kAllParts) {
    if (!parts.Has(part)) continue;
    if (!text.empty()) text += ", ";
    text += ToText(part);
  }
  return text.empty() ? "none" : text;
}

Result<UserRange> ParseUserRange(std::string_view text) {
  const auto bad = [&] {
    return Invalid("worker.task_users = " + Quote(std::string(text)) +
                   " is not a range of user numbers; give one that nobody uses, such as 70000-99999");
  };
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return bad();
  uid_t first = 0, last = 0;
  const auto read = [](std::string_view digits, uid_t* number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!read(text.substr(0, dash), &first) || !read(text.substr(dash + 1), &last)) return bad();
  if (first == 0 || last < first || last == static_cast<uid_t>(-1)) return bad();
  return UserRange{first, last - first + 1};
}

uid_t UserOf(const UserRange& users, JobId job) { return users.first + job.value % users.count; }

std::optional<std::vector<std::string>> ReadableByAll(const SandboxSettings& settings) {
  if (!settings.parts.Has(Part::kMounts) && !settings.parts.Has(Part::kLandlock)) return std::nullopt;
  return SystemAnd(settings.readable);
}

LaunchOrder PlanLaunch(const SandboxSettings& settings, const JobPlace& place) {
  const Parts& parts = settings.parts;
  LaunchOrder order;
  order.executable = place.executable;
  order.user_namespace = (NamespacesOf(settings, place) & CLONE_NEWUSER) != 0;
  if (parts.Has(Part::kUser)) order.user = UserOf(settings.users, place.job);
  order.own_view = parts.Has(Part::kMounts);
  order.own_processes = parts.Has(Part::kProcesses);
  order.own_host_name = parts.Has(Part::kIpc);
  order.landlock = parts.Has(Part::kLandlock);
  order.readable = SystemAnd(settings.readable);
  order.readable.push_back(place.executable);
  order.readable.insert(order.readable.end(), place.readable.begin(), place.readable.end());
  order.writable = place.writable;
  order.hidden = settings.hidden;
  order.tmp_bytes = settings.tmp_bytes;
  // With a user of its own, or in a user namespace (from Linux 5.14 on), the limit counts the job's processes alone. A
  // cgroup counts better.
  if (!parts.Has(Part::kCgroup) && (order.user || order.user_namespace)) order.processes = settings.processes;
  order.filter_tells = parts.Has(Part::kNetwork) && !place.network;
  return order;
}

int NamespacesOf(const SandboxSettings& settings, const JobPlace& place) {
  int flags = 0;
  if (settings.parts.Has(Part::kMounts)) flags |= CLONE_NEWNS;
  if (settings.parts.Has(Part::kProcesses)) flags |= CLONE_NEWPID;
  if (settings.parts.Has(Part::kIpc)) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  if (settings.parts.Has(Part::kNetwork) && !place.network) flags |= CLONE_NEWNET;
  if (flags != 0 && !settings.privileged) flags |= CLONE_NEWUSER;
  return flags;
}

}  // namespace millrace::sandbox
