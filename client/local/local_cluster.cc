// SPDX-License-Identifier: Apache-2.0
#include "client/local/local_cluster.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "base/file.h"
#include "base/ids/counted.h"
#include "base/local_place.h"
#include "base/machine_size.h"
#include "base/text.h"
#include "base/units.h"
#include "schedulers/policies/catalog.h"

namespace millrace::local {
namespace {

constexpr std::chrono::seconds kStopPatience{5};
constexpr std::chrono::seconds kStartPatience{60};  // for one daemon more to be ready
constexpr int kUsageStatus = 2;
constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 30;

// A program of the scheduler (external:PATH) is the user's own, like the jobs.
std::vector<std::string> SchedulerSettings(const std::string& scheduler) {
  const sched::Spec spec = sched::CutSpec(scheduler);
  const std::unique_ptr<char, decltype(&::free)> path(
      spec.program.empty() ? nullptr : ::realpath(spec.program.c_str(), nullptr), ::free);
  if (path == nullptr) return {"master.scheduler=" + scheduler};  // without a program, or with none that is there
  const std::string program = path.get();
  const std::size_t slash = program.rfind('/');
  return {"master.programs=" + program.substr(0, std::max<std::size_t>(slash, 1)), "master.program_sandbox=off",
          "master.scheduler=" + std::string(sched::kExternal) + ":" + program.substr(slash + 1) +
              spec.expression.substr(sched::kExternal.size())};
}

std::vector<std::string> MasterSettings(const ClusterOptions& options, const std::string& directory) {
  std::vector<std::string> settings{"master.bind=127.0.0.1:0", "master.directory=" + directory + "/master",
                                    "master.address_file=" + directory + "/address"};
  if (!options.scheduler.empty()) {
    const std::vector<std::string> of_scheduler = SchedulerSettings(options.scheduler);
    settings.insert(settings.end(), of_scheduler.begin(), of_scheduler.end());
  }
  settings.insert(settings.end(), options.master_settings.begin(), options.master_settings.end());
  return settings;
}

// The first parts of the names of options that only the master has, or only workers.
constexpr std::array<std::string_view, 5> kOfMaster = {"master", "dfs", "trace", "access", "audit"};
constexpr std::array<std::string_view, 3> kOfWorker = {"worker", "task", "spot"};

sigset_t Handled() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

// The daemons talk over 127.0.0.1, which a new network namespace has, but down: every connection would be tried for
// ever.
Status CheckLoopback() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return FromErrno(errno, "make a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const Fd dialer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!dialer.valid()) return FromErrno(errno, "make a socket");
  const bool reached = ::bind(socket.get(), any, size) == 0 && ::listen(socket.get(), 1) == 0 &&
                       ::getsockname(socket.get(), any, &size) == 0 &&
                       (::connect(dialer.get(), any, size) == 0 || errno == EINPROGRESS);
  if (reached) return Status::Ok();
  const Status why = FromErrno(errno, "reach 127.0.0.1, over which its daemons talk");
  return Unavailable(why.message() + "; is the loopback interface up (ip link set lo up)?");
}

}  // namespace

Status SortSetting(const std::string& setting, ClusterOptions* options) {
  const std::size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals), part = name.substr(0, name.find('.'));
  const std::string what = "--set " + Quote(setting);
  if (equals == std::string::npos) return Invalid(what + " is not NAME=VALUE");
  if (part == "tls") return Invalid(what + ": a cluster of this machine has no TLS; nobody but you reaches it");
  if (name == "log.file") return Invalid(what + ": the logs lie in the directory of --keep, a file for each daemon");
  const bool both = part == "log";
  const bool any_port = setting.ends_with("=0") || setting.ends_with(":0");
  // All daemons are on one machine, so that a port can be the master's alone.
  const bool listens = name == "metrics.listen" || name == "health.listen";
  const bool masters = std::ranges::find(kOfMaster, std::string_view(part)) != kOfMaster.end();
  const bool workers = std::ranges::find(kOfWorker, std::string_view(part)) != kOfWorker.end();
  if (!both && !listens && !masters && !workers) {
    return Invalid(what + ": names begin with " +
                   Joined(std::vector<std::string>(kOfMaster.begin(), kOfMaster.end()), ", ") + " (the master's), " +
                   Joined(std::vector<std::string>(kOfWorker.begin(), kOfWorker.end()), ", ") +
                   " (the workers'), log, metrics or health; options of jobs are given with -D");
  }
  if (both || listens || masters) options->master_settings.push_back(setting);
  if (both || (listens && any_port) || workers) options->worker_settings.push_back(setting);
  return Status::Ok();
}

std::vector<std::string> WorkerSettings(const ClusterOptions& options, std::int64_t n, const std::string& directory,
                                        const std::string& master) {
  const std::string name = "worker" + std::to_string(n);
  const std::int64_t rack = n % std::max(options.racks, options.datacenters);
  std::vector<std::string> settings{"worker.master=" + master, "worker.port=0",
                                    "worker.directory=" + directory + "/" + name, "worker.name=" + name,
                                    "worker.rack=rack" + std::to_string(rack),
                                    "worker.datacenter=datacenter" + std::to_string(rack % options.datacenters),
                                    "worker.ready_file=" + directory + "/" + name + ".ready",
                                    // Its jobs are the user's own, and use the files around them.
                                    "worker.sandbox=off"};
  // All of them are on one machine. A setting of the user comes later, and prevails.
  // All are on one disk, too, which may be a small one: the usual gibibyte might be all of it.
  const Result<std::uint64_t> free = FreeBytes(directory);
  if (free.ok()) settings.push_back("worker.reserved_bytes=" + std::to_string(std::min(kMostReserved, *free / 16)));
  const std::uint64_t memory = MachineMemory() / static_cast<std::uint64_t>(options.workers);
  settings.push_back("worker.memory=" + std::to_string(memory));
  const std::uint64_t cores = CoresOfMachine().whole() / static_cast<std::uint64_t>(options.workers);
  settings.push_back("worker.cores=" + std::to_string(std::max<std::uint64_t>(1, cores)));
  const auto own = static_cast<std::size_t>(n);
  if (own < options.settings_of_worker.size()) {
    settings.insert(settings.end(), options.settings_of_worker[own].begin(), options.settings_of_worker[own].end());
  }
  settings.insert(settings.end(), options.worker_settings.begin(), options.worker_settings.end());
  return settings;
}

Signals::Signals() {
  const sigset_t set = Handled();
  MILLRACE_CHECK(::sigprocmask(SIG_BLOCK, &set, nullptr) == 0, "signals can be blocked");
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw std::system_error(errno, std::generic_category(), "wait for signals");
}

Signals::~Signals() {
  while (Next() != 0) {
  }
  const sigset_t set = Handled();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int Signals::Next() {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Status LocalCluster::MakeDirectory(const ClusterOptions& options) {
  if (options.keep.empty()) {
    MILLRACE_ASSIGN(TempDir made, TempDir::Make("millrace-local-"));
    temporary_.emplace(std::move(made));
    directory_ = temporary_->path();
    return Status::Ok();
  }
  MILLRACE_TRY(PrepareDirectory(options.keep));
  MILLRACE_ASSIGN(const std::vector<std::string> inside, ListDirectory(options.keep));
  if (!inside.empty() && !options.again)
    return Exists("--keep " + Quote(options.keep) + ": the directory is not empty; choose another");
  char path[PATH_MAX];
  if (::realpath(options.keep.c_str(), path) == nullptr) return FromErrno(errno, "directory " + Quote(options.keep));
  directory_ = path;
  // By these files the daemons say that they are there.
  for (const std::string& name : inside) {
    if (name == "address" || name.ends_with(".ready")) ::unlink(In(name).c_str());
  }
  return Status::Ok();
}

Result<Process> LocalCluster::Spawn(std::vector<std::string> argv, const std::vector<std::string>& settings,
                                    const std::string& log) const {
  for (const std::string& setting : settings) {
    argv.push_back("--set");
    argv.push_back(setting);
  }
  return Process::Start({.argv = std::move(argv), .environment = {}, .log = In(log)}, guardian_->registry());
}

Status LocalCluster::InitMaster(const std::string& program, const std::vector<std::string>& settings) {
  MILLRACE_ASSIGN(Process process, Spawn({program, "master", "--init"}, settings, "master.log"));
  const Result<int> status = process.Reap();
  return status.ok() && *status == 0 ? Status::Ok() : Ended("master", status);
}

Status LocalCluster::StartDaemon(const std::string& program, const std::string& name,
                                 const std::vector<std::string>& settings) {
  MILLRACE_ASSIGN(Process process, Spawn({program, name == "master" ? "master" : "worker"}, settings, name + ".log"));
  daemons_.push_back({name, std::move(process)});
  return Status::Ok();
}

namespace {

// Returns "the master", and a worker by its name: "worker1".
std::string Named(const std::string& daemon) { return daemon == "master" ? "the master" : daemon; }

}  // namespace

std::string LocalCluster::LastLine(const std::string& name) const {
  std::string log = ReadWholeFile(In(name + ".log")).ok() ? ReadWholeFile(In(name + ".log")).value() : "";
  while (!log.empty() && log.back() == '\n') log.pop_back();
  const std::string last = log.substr(log.rfind('\n') + 1);
  return last.starts_with("millrace: ") ? last.substr(10) : last;
}

Status LocalCluster::Ended(const std::string& name, const Result<int>& status) const {
  if (!status.ok()) return status.status().Within(Named(name));
  const std::string said = LastLine(name);
  const std::string message =
      Named(name) + " ended with exit status " + std::to_string(*status) + (said.empty() ? "" : ": " + said);
  return *status == kUsageStatus ? Invalid(message) : Unavailable(message);
}

Status LocalCluster::AwaitFile(const std::string& name, const std::string& daemon, Signals& signals) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + kStartPatience;
  while (::access(In(name).c_str(), F_OK) != 0) {
    std::vector<pollfd> waited{{changes_.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    for (const Daemon& each : daemons_) waited.push_back({each.process.fd(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) {
      const std::string said = LastLine(daemon);
      return Timeout(Named(daemon) + " was not ready within " + std::to_string(kStartPatience.count()) + " s" +
                     (said.empty() ? "" : "; its last message: " + said));
    }
    if (::poll(waited.data(), waited.size(), static_cast<int>(left)) < 0 && errno != EINTR)
      return FromErrno(errno, "wait for " + Quote(In(name)));
    for (std::size_t i = 0; i < daemons_.size(); ++i) {
      if (waited[i + 2].revents != 0) return Ended(daemons_[i].name, daemons_[i].process.Reap());
    }
    for (int signal; (signal = signals.Next()) != 0;) {
      if (signal != SIGCHLD) return Cancelled("interrupted while the cluster was starting");
    }
    alignas(inotify_event) char events[4096];
    if (waited[0].revents != 0) (void)!::read(changes_.get(), events, sizeof events);
  }
  return Status::Ok();
}

std::vector<std::string> LocalCluster::Warnings() const {
  std::vector<std::string> warnings;
  struct statvfs place {};
  if (::statvfs(directory_.c_str(), &place) != 0) return warnings;
  const std::string advice = "; choose another place by TMPDIR or --keep";
  if ((place.f_flag & ST_NOEXEC) != 0)
    warnings.push_back(Quote(directory_) + " is mounted noexec, so that no job can be started from there" + advice);
  constexpr std::uint64_t kLittle = std::uint64_t{512} << 20;  // a few blocks for each of some workers
  const Result<std::uint64_t> free = FreeBytes(directory_);
  if (free.ok() && *free < kLittle)
    warnings.push_back(Quote(directory_) + " has only " + FormatBytes(*free) +
                       " free, and a block takes up to 64 MiB on each of its workers" + advice);
  return warnings;
}

std::vector<int> LocalCluster::DaemonFds() const {
  std::vector<int> fds;
  for (const Daemon& daemon : daemons_) {
    if (daemon.process.running()) fds.push_back(daemon.process.fd());
  }
  return fds;
}

Result<std::vector<std::string>> LocalCluster::TakeLosses() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < daemons_.size(); ++i) {
    Daemon& daemon = daemons_[i];
    pollfd ended{daemon.process.fd(), POLLIN, 0};
    if (!daemon.process.running() || ::poll(&ended, 1, 0) != 1) continue;
    const Status how = Ended(daemon.name, daemon.process.Reap());
    const auto left = std::count_if(daemons_.begin() + 1, daemons_.end(),
                                    [](const Daemon& worker) { return worker.process.running(); });
    if (i == 0) return Unavailable(how.message());
    if (left == 0) return Unavailable(how.message() + "; no worker is left");
    lines.push_back(how.message() + "; " +
                    Counted(static_cast<std::uint64_t>(left), "worker goes on", "workers go on"));
  }
  return lines;
}

Result<LocalCluster> LocalCluster::Start(const std::string& program, const ClusterOptions& options, Signals& signals) {
  LocalCluster cluster;
  MILLRACE_TRY(cluster.MakeDirectory(options));
  MILLRACE_ASSIGN(Guardian guardian, Guardian::Start(options.keep.empty() ? cluster.directory_ : options.if_killed));
  cluster.guardian_.emplace(std::move(guardian));
  cluster.changes_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!cluster.changes_.valid() ||
      ::inotify_add_watch(cluster.changes_.get(), cluster.directory_.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
    return FromErrno(errno, "watch " + Quote(cluster.directory_));
  }
  MILLRACE_TRY(CheckLoopback());
  const std::vector<std::string> master = MasterSettings(options, cluster.directory_);
  if (!options.again) MILLRACE_TRY(cluster.InitMaster(program, master));
  MILLRACE_TRY(cluster.StartDaemon(program, "master", master));
  MILLRACE_TRY(cluster.AwaitFile("address", "master", signals));
  MILLRACE_ASSIGN(cluster.address_, ReadWholeFile(cluster.In("address")));
  cluster.address_.erase(cluster.address_.find_last_not_of('\n') + 1);
  for (std::int64_t n = 0; n < options.workers; ++n) {
    MILLRACE_TRY(cluster.StartDaemon(program, "worker" + std::to_string(n),
                                     WorkerSettings(options, n, cluster.directory_, cluster.address_)));
  }
  for (std::size_t i = 1; i < cluster.daemons_.size(); ++i) {
    MILLRACE_TRY(cluster.AwaitFile(cluster.daemons_[i].name + ".ready", cluster.daemons_[i].name, signals));
  }
  return cluster;
}

void LocalCluster::Stop() {
  using std::chrono::steady_clock;
  for (const Daemon& daemon : daemons_) daemon.process.SignalGroup(SIGTERM);
  const auto end = steady_clock::now() + kStopPatience;
  for (Daemon& daemon : daemons_) {
    if (!daemon.process.running()) continue;
    pollfd ended{daemon.process.fd(), POLLIN, 0};
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
      if (::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) >= 0 || errno != EINTR) break;
    }
    daemon.process.SignalGroup(SIGKILL);  // also what is left of its group
    (void)daemon.process.Reap();
  }
  daemons_.clear();
}

LocalCluster::~LocalCluster() {
  Stop();
  if (!guardian_) return;
  const bool temporary = temporary_.has_value();
  temporary_.reset();
  // A task process whose worker had to be killed may have written something in the meantime.
  if (temporary && ::access(directory_.c_str(), F_OK) == 0) {
    guardian_->CleanUp();
  } else {
    guardian_->Dismiss();
  }
}

}  // namespace millrace::local
