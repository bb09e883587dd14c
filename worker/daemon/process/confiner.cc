// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/confiner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/child_process.h"
#include "worker/sandbox/call_filter.h"

namespace millrace::worker {
namespace {

using sandbox::Part;

constexpr const char* kProbe = "--probe";  // the launcher, executed as a job, tries the gate and ends
constexpr std::uint64_t kProbeSerial = ~std::uint64_t{0} - 1;
constexpr Part kNamespaces[] = {Part::kMounts, Part::kProcesses, Part::kIpc, Part::kNetwork};

// Returns true if this process may change users, make namespaces and end processes of other users.
bool IsPrivileged() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  const auto has = [&](unsigned capability) { return (data[capability / 32].effective >> capability % 32 & 1) != 0; };
  return has(CAP_SYS_ADMIN) && has(CAP_SETUID) && has(CAP_SETGID) && has(CAP_CHOWN) && has(CAP_DAC_OVERRIDE) &&
         has(CAP_FOWNER) && has(CAP_KILL) && has(CAP_SYS_PTRACE);
}

// A cgroup counts more than the private memory that the process limits: files in memory, page tables, cached blocks.
std::uint64_t WithRoom(std::uint64_t memory) {
  constexpr std::uint64_t kLeast = std::uint64_t{256} << 20;
  return memory == 0 ? 0 : memory + std::max(memory / 4, kLeast);
}

}  // namespace

Result<std::unique_ptr<Confiner>> Confiner::Open(ConfinerOptions options) {
  std::unique_ptr<Confiner> confiner(new Confiner(std::move(options)));
  confiner->Look();
  MILLRACE_TRY(confiner->Probe());
  if (!confiner->options_.required || confiner->missing_.empty()) return confiner;
  std::string all;
  for (const auto& [part, why] : confiner->missing_) {
    all += std::string(all.empty() ? "" : "; ") + std::string(ToText(part)) + ": " + why;
  }
  return Unavailable("worker.sandbox = require, and this machine cannot do all of it: " + all +
                     "; worker.sandbox = auto does what it can");
}

void Confiner::Drop(Part part, const std::string& why) {
  if (!settings_.parts.Has(part)) return;
  settings_.parts.Remove(part);
  missing_.emplace(part, why);
  const std::string name(ToText(part));
  if (part == Part::kMounts) Drop(Part::kUser, "without " + name + " a job's user cannot reach its own files");
  if (part == Part::kFilter) Drop(Part::kNetwork, "without " + name + " nothing could reach the file system");
}

void Confiner::Look() {
  settings_ = {.parts = sandbox::Parts::All(),
               .privileged = IsPrivileged(),
               .users = options_.users,
               .readable = options_.readable,
               .hidden = options_.hidden,
               .tmp_bytes = options_.tmp_bytes,
               .processes = options_.processes};
  if (!settings_.privileged) Drop(Part::kUser, "the worker may not change users; it does as root");
  if (options_.network == TaskNetwork::kAlways) Drop(Part::kNetwork, "worker.task_network = always");
  auto plain = sandbox::MakeCallFilter(false), asking = sandbox::MakeCallFilter(true);
  if (plain.ok() && asking.ok()) {
    filter_ = std::move(*plain);
    asking_filter_ = std::move(*asking);
  } else {
    Drop(Part::kFilter, (plain.ok() ? asking : plain).status().message());
  }
  auto cgroups = sandbox::TaskCgroups::Open();
  if (cgroups.ok()) cgroups_ = std::move(*cgroups);
  if (!cgroups.ok()) Drop(Part::kCgroup, cgroups.status().message());
}

Status Confiner::Probe() {
  std::string failed;
  for (std::size_t tries = 0; tries <= std::size(sandbox::kAllParts); ++tries) {
    MILLRACE_ASSIGN(failed, Try());
    if (failed.empty()) return Status::Ok();
    const std::size_t colon = failed.find(": ");
    const std::string what = failed.substr(0, colon);
    if (what == "namespaces" && sandbox::NamespacesOf(settings_, {}) != 0) {
      for (const Part namespaced : kNamespaces) Drop(namespaced, failed.substr(colon + 2));
      continue;
    }
    const auto part = sandbox::ParsePart(what);
    if (!part || !settings_.parts.Has(*part)) break;
    Drop(*part, failed.substr(colon + 2));
  }
  return Internal("no confined process can be started: " + failed + "; worker.sandbox = off runs tasks without");
}

Result<std::string> Confiner::Try() {
  MILLRACE_ASSIGN(const TempDir directory, TempDir::Make("millrace-sandbox"));
  sandbox::JobPlace place;
  place.executable = options_.launcher;
  place.writable = {directory.path()};
  auto confined = Confine(place, kProbeSerial, 0);
  if (!confined.ok()) return "cgroup: " + confined.status().message();
  MILLRACE_ASSIGN(const Fd words, OpenFile("/dev/null", O_WRONLY));
  const SpawnSpec spec{.minder = options_.minder,
                       .executable = options_.launcher,
                       .arguments = {kProbe},
                       .output = words.get(),
                       .mark = "probe",
                       .launch = &confined->launch};
  auto spawned = Spawn(spec);
  if (!spawned.ok()) {
    if (sandbox::NamespacesOf(settings_, place) == 0) return spawned.status();
    return "namespaces: " + spawned.status().message();
  }
  sandbox::SocketGate gate(
      std::move(spawned->report),
      {.user = confined->user, .peers = confined->peers, .own_view = confined->launch.order.own_view});
  MILLRACE_ASSIGN(const int status, WaitForChild(spawned->pid));
  std::string failed = gate.Failure();
  if (!failed.empty() || ExitStatusOf(status) == 0) return failed;
  if (settings_.parts.Has(Part::kNetwork)) return "network: sockets cannot be handed over: " + DescribeExit(status);
  return "the probe " + DescribeExit(status);
}

Result<Confiner::Confined> Confiner::Confine(const sandbox::JobPlace& place, std::uint64_t serial,
                                             std::uint64_t memory) {
  Confined confined;
  confined.launch.launcher = options_.launcher;
  confined.launch.namespaces = sandbox::NamespacesOf(settings_, place);
  sandbox::LaunchOrder order = sandbox::PlanLaunch(settings_, place);
  if (settings_.parts.Has(Part::kFilter)) order.filter = order.filter_tells ? asking_filter_ : filter_;
  if (order.filter_tells) confined.peers = options_.peers;
  confined.user = order.user;
  if (settings_.parts.Has(Part::kCgroup)) {
    MILLRACE_ASSIGN(auto cgroup, cgroups_->Make(serial, {WithRoom(memory), settings_.processes}));
    MILLRACE_ASSIGN(confined.launch.doors, cgroup.Doors());
    confined.cgroup.emplace(std::move(cgroup));
    order.cgroups = static_cast<std::uint32_t>(confined.launch.doors.size());
  }
  confined.launch.order = std::move(order);
  return confined;
}

std::optional<sandbox::UserRange> Confiner::users() const {
  if (!settings_.parts.Has(Part::kUser)) return std::nullopt;
  return settings_.users;
}

bool Confiner::MayUseNetwork(bool asks) const {
  return options_.network == TaskNetwork::kAlways || (options_.network == TaskNetwork::kAsked && asks);
}

std::string Confiner::Describe() const {
  std::string text = ToText(settings_.parts);
  std::string without;
  for (const auto& [part, why] : missing_) {
    without += (without.empty() ? "; without " : ", ") + std::string(ToText(part)) + " (" + why + ")";
  }
  return text + without;
}

}  // namespace millrace::worker
