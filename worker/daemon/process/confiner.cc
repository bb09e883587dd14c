// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/confiner.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/child_process.h"
#include "base/sandbox/call_filter.h"

namespace millrace::worker {
namespace {

using sandbox::Part;

constexpr const char* kProbe = "--probe";  // the launcher, executed as a job, tries the gate and ends
constexpr std::uint64_t kProbeSerial = ~std::uint64_t{0} - 1;

// A cgroup counts more than the private memory that the process limits: files in memory, page tables, cached blocks.
std::uint64_t WithRoom(std::uint64_t memory) {
  constexpr std::uint64_t kLeast = std::uint64_t{256} << 20;
  return memory == 0 ? 0 : memory + std::max(memory / 4, kLeast);
}

}  // namespace

Result<std::unique_ptr<Confiner>> Confiner::Open(ConfinerOptions options) {
  std::unique_ptr<Confiner> confiner(new Confiner(std::move(options)));
  confiner->Look();
  MILLRACE_TRY(confiner->found_.Find([&] { return confiner->Try(); }, "; worker.sandbox = off runs tasks without"));
  if (!confiner->options_.required || confiner->missing().empty()) return confiner;
  std::string all;
  for (const auto& [part, why] : confiner->missing()) {
    all += std::string(all.empty() ? "" : "; ") + std::string(ToText(part)) + ": " + why;
  }
  return Unavailable("worker.sandbox = require, and this machine cannot do all of it: " + all +
                     "; worker.sandbox = auto does what it can");
}

Confiner::Confiner(ConfinerOptions options)
    : options_(std::move(options)),
      found_({.parts = sandbox::Parts::All(),
              .privileged = sandbox::IsPrivileged(),
              .users = options_.users,
              .readable = options_.readable,
              .hidden = options_.hidden,
              .tmp_bytes = options_.tmp_bytes,
              .processes = options_.processes}) {}

void Confiner::Look() {
  if (!found_.settings().privileged) found_.Drop(Part::kUser, "the worker may not change users; it does as root");
  if (options_.network == TaskNetwork::kAlways) found_.Drop(Part::kNetwork, "worker.task_network = always");
  auto plain = sandbox::MakeCallFilter(sandbox::Sockets::kAny),
       asking = sandbox::MakeCallFilter(sandbox::Sockets::kAsked);
  if (plain.ok() && asking.ok()) {
    filter_ = std::move(*plain);
    asking_filter_ = std::move(*asking);
  } else {
    found_.Drop(Part::kFilter, (plain.ok() ? asking : plain).status().message());
  }
  auto cgroups = sandbox::TaskCgroups::Open();
  if (cgroups.ok()) cgroups_ = std::move(*cgroups);
  if (!cgroups.ok()) found_.Drop(Part::kCgroup, cgroups.status().message());
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
    if (sandbox::NamespacesOf(found_.settings(), place) == 0) return spawned.status();
    return "namespaces: " + spawned.status().message();
  }
  sandbox::SocketGate gate(
      std::move(spawned->report),
      {.user = confined->user, .peers = confined->peers, .own_view = confined->launch.order.own_view});
  MILLRACE_ASSIGN(const int status, WaitForChild(spawned->pid));
  std::string failed = gate.Failure();
  if (!failed.empty() || ExitStatusOf(status) == 0) return failed;
  if (parts().Has(Part::kNetwork)) return "network: sockets cannot be handed over: " + DescribeExit(status);
  return "the probe " + DescribeExit(status);
}

Result<Confiner::Confined> Confiner::Confine(const sandbox::JobPlace& place, std::uint64_t serial,
                                             std::uint64_t memory) {
  Confined confined;
  confined.launch.launcher = options_.launcher;
  confined.launch.namespaces = sandbox::NamespacesOf(found_.settings(), place);
  sandbox::LaunchOrder order = sandbox::PlanLaunch(found_.settings(), place);
  if (parts().Has(Part::kFilter)) order.filter = order.filter_tells ? asking_filter_ : filter_;
  if (order.filter_tells) confined.peers = options_.peers;
  confined.user = order.user;
  if (parts().Has(Part::kCgroup)) {
    MILLRACE_ASSIGN(auto cgroup, cgroups_->Make(serial, {WithRoom(memory), found_.settings().processes}));
    MILLRACE_ASSIGN(confined.launch.doors, cgroup.Doors());
    confined.cgroup.emplace(std::move(cgroup));
    order.cgroups = static_cast<std::uint32_t>(confined.launch.doors.size());
  }
  confined.launch.order = std::move(order);
  return confined;
}

std::optional<sandbox::UserRange> Confiner::users() const {
  if (!parts().Has(Part::kUser)) return std::nullopt;
  return found_.settings().users;
}

bool Confiner::MayUseNetwork(bool asks) const {
  return options_.network == TaskNetwork::kAlways || (options_.network == TaskNetwork::kAsked && asks);
}

}  // namespace millrace::worker
