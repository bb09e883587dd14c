// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/worker_main.h"

#include <errno.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/daemon/health_pages.h"
#include "base/daemon/limits.h"
#include "base/daemon/metrics.h"
#include "base/daemon/service_manager.h"
#include "base/file.h"
#include "base/local_place.h"
#include "base/machine_size.h"
#include "base/program.h"
#include "base/release.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/client/dfs_client.h"
#include "dfs/data/spread_block_store.h"
#include "worker/daemon/agent/agent.h"
#include "worker/daemon/bulk_plane.h"
#include "worker/daemon/cluster_peers.h"
#include "worker/daemon/end_guard.h"
#include "worker/daemon/notice_watch.h"
#include "worker/daemon/process/confiner.h"
#include "worker/daemon/process/machine_share.h"
#include "worker/daemon/process/orphans.h"
#include "worker/daemon/process/process_runner.h"
#include "worker/daemon/python_watch.h"
#include "worker/daemon/storage/block_directories.h"
#include "worker/daemon/storage/block_disks.h"
#include "worker/daemon/storage/scrubber.h"
#include "worker/daemon/storage/storage_lock.h"
#include "worker/daemon/storage/storage_watch.h"
#include "worker/daemon/worker_metrics.h"
#include "worker/sandbox/read_only_mounts.h"

namespace millrace::worker {
namespace {

constexpr std::size_t kThreads = 48;  // those of the block server, of each disk, of fetches, and some to spare
constexpr kj::Duration kLogSweep = 10 * kj::MINUTES;
constexpr std::chrono::seconds kLongestEnd{10};  // of which kFarewell is one at most
constexpr kj::uint kTurnsBetweenLooks = 64;      // of the loop

// Returns the address by which the worker is called where no name was given.
const std::string& AddressOf(const WorkerConfig& config) { return config.host.empty() ? config.bind : config.host; }

// Returns the name of the worker in its log: the one it was given, or else its host, which several workers may share,
// so that the node's number follows once the master has given it. An address of all hosts (0.0.0.0) names none.
std::string NameOf(const WorkerConfig& config, std::optional<NodeId> node) {
  if (!config.name.empty()) return config.name;
  std::string name = AddressOf(config);
  if (name == "0.0.0.0" || name == "::" || name == "[::]") {
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0 && host[0] != 0) name = host.data();
  }
  return node ? name + " (node " + std::to_string(node->value) + ")" : name;
}

int Fail(const Status& why, int status) {
  std::cerr << "millrace: worker: " << why.message() << "\n";
  return status;
}

// Each fetch makes a connection of its own, since executables are fetched only once in a while.
FetchFile FetchFrom(const WorkerConfig& config, const std::shared_ptr<tls::Credentials>& credentials) {
  return [master = config.master, directory = config.directory, credentials](
             const std::string& path, const std::function<bool(std::string_view)>& sink) -> Status {
    dfs::ClientOptions options;
    options.master = master;
    options.credentials = credentials;
    options.patience = options.call_timeout;  // so that a restarted master costs no attempt
    MILLRACE_ASSIGN(options.cluster, ReadClusterOf(directory));
    options.cluster_advice = "it is that of this worker";
    MILLRACE_ASSIGN(const auto client, dfs::DfsClient::Connect(options));
    MILLRACE_ASSIGN(const auto file, client->Open(path));
    return file->Stream(0, file->info().length, sink);
  };
}

// Each archive is written over a connection of its own, as executables are fetched. A failed one is tried again later.
StoreFile StoreIn(const WorkerConfig& config, const std::shared_ptr<tls::Credentials>& credentials) {
  return [master = config.master, directory = config.directory, credentials](
             const std::string& path, const std::function<Status(const WriteBytes&)>& fill) -> Status {
    dfs::ClientOptions options;
    options.master = master;
    options.credentials = credentials;
    MILLRACE_ASSIGN(options.cluster, ReadClusterOf(directory));
    options.cluster_advice = "it is that of this worker";
    MILLRACE_ASSIGN(const auto client, dfs::DfsClient::Connect(options));
    MILLRACE_ASSIGN(const auto file, client->Create(path, {}));
    MILLRACE_TRY(fill([&file](std::string_view bytes) { return file->Write(bytes); }));
    return file->Close();
  };
}

std::vector<std::string> Listed(const std::string& commas) {
  std::vector<std::string> parts;
  std::istringstream in(commas);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// The launcher lies beside the minder.
std::string LauncherOf(const std::string& minder) {
  return minder.substr(0, minder.rfind('/') + 1) + "millrace-launch";
}

Result<ConfinerOptions> ConfinerOptionsOf(const WorkerConfig& config, const std::string& minder,
                                          sandbox::PeerList& peers) {
  ConfinerOptions options;
  options.required = config.sandbox == "require";
  options.minder = minder;
  options.launcher = LauncherOf(minder);
  MILLRACE_ASSIGN(options.users, sandbox::ParseUserRange(config.task_users));
  options.readable = Listed(config.task_paths);
  for (const std::string& path : options.readable) {
    if (!path.starts_with('/')) return Invalid("worker.task_paths: " + Quote(path) + " does not begin with /");
  }
  options.hidden = {"/etc/millrace"};
  // The key may lie elsewhere; its directory is hidden unless it is one of the system, such as /etc.
  const std::string keys = config.tls.key.substr(0, config.tls.key.rfind('/') + 1);
  if (std::ranges::count(keys, '/') > 2 && !keys.starts_with("/etc/millrace/"))
    options.hidden.push_back(keys.substr(0, keys.size() - 1));
  options.tmp_bytes = config.task_tmp;
  options.processes = static_cast<std::uint64_t>(config.task_processes);
  options.network = config.task_network == "never"    ? TaskNetwork::kNever
                    : config.task_network == "always" ? TaskNetwork::kAlways
                                                      : TaskNetwork::kAsked;
  options.peers = &peers;
  return options;
}

// Opens the confiner of tasks, and logs the parts of the sandbox that it uses. Null if tasks are not confined.
Result<std::unique_ptr<Confiner>> OpenConfiner(const WorkerConfig& config, const std::string& minder,
                                               sandbox::PeerList& peers, const Log& log) {
  if (config.sandbox == "off") {
    log->info("tasks are not confined (worker.sandbox = off)");
    return std::unique_ptr<Confiner>();
  }
  MILLRACE_ASSIGN(ConfinerOptions options, ConfinerOptionsOf(config, minder, peers));
  auto confiner = Confiner::Open(std::move(options));
  if (!confiner.ok() && config.sandbox == "require") return confiner.status();
  if (!confiner.ok()) {
    log->warn("tasks are not confined: {}", confiner.status().message());
    return std::unique_ptr<Confiner>();
  }
  if ((*confiner)->missing().empty()) {
    log->info("tasks are confined: {}", (*confiner)->Describe());
  } else {
    log->warn("tasks are confined in part: {}", (*confiner)->Describe());
  }
  return confiner;
}

// Confined tasks that are the worker's own user get blocks by descriptors with which they can do nothing but read.
void PassReadOnly(BulkPlane& plane, const Confiner& confiner, const std::string& launcher,
                  const std::vector<std::string>& directories, const Log& log) {
  if (confiner.parts().Has(sandbox::Part::kUser)) return;  // what tasks do not own they cannot change either
  std::vector<std::string> blocks;
  for (const std::string& directory : directories) blocks.push_back(directory + "/blocks");
  auto mounts = sandbox::ReadOnlyMounts::Open(launcher, blocks);
  if (!mounts.ok()) {
    log->warn("tasks could change the blocks that they read here, as they run as this worker's user: {}",
              mounts.status().message());
    return;
  }
  const auto shared = std::make_shared<const sandbox::ReadOnlyMounts>(*std::move(mounts));
  plane.PassBlocksBy([shared](const Fd& block) { return shared->Reopen(block); });
}

TaskView ViewOf(const Confiner* confiner) {
  if (confiner == nullptr) return {};
  return {.places = confiner->readable_by_all(), .own_users = confiner->users().has_value()};
}

ProcessLimits LimitsOf(const WorkerConfig& config, const std::string& minder, const DiskAttemptFiles& files,
                       Confiner* confiner, const std::shared_ptr<tls::Credentials>& credentials) {
  ProcessLimits limits;
  limits.minder = minder;
  limits.jobs_directory = files.jobs_directory();
  limits.logs_directory = files.logs_directory();
  limits.files = &files.directories();
  limits.confiner = confiner;
  limits.warm_processes = static_cast<std::size_t>(config.warm_processes);
  limits.warm_idle = config.warm_idle * kj::MICROSECONDS;
  limits.start_timeout = config.task_start_timeout * kj::MICROSECONDS;
  limits.memory_limit = config.task_memory_bound;
  if (credentials != nullptr) {
    limits.credentials = [credentials](const std::string& user) {
      return credentials->ForTask(user, SystemClock().Now());
    };
  }
  return limits;
}

// Replaces options that are `auto` by numbers for this machine.
Status ResolveResources(WorkerConfig* config) {
  const std::uint64_t memory = config->memory == 0 ? MachineMemory() : config->memory;
  if (config->cores == 0) config->cores = static_cast<std::int64_t>(CoresOfMachine().whole());
  const TaskSlots resolved = ResolveSlots({config->map_slots, config->reduce_slots},
                                          static_cast<std::uint64_t>(config->cores), memory, config->task_memory);
  config->map_slots = resolved.maps;
  config->reduce_slots = resolved.reduces;
  const auto slots = static_cast<std::uint64_t>(config->map_slots + config->reduce_slots);
  MILLRACE_ASSIGN(const MemoryLimits limits,
                  ReadMemoryLimit(config->task_memory_limit, MemoryShare(memory, slots, config->task_memory)));
  config->task_memory_bound = limits.bound;
  config->task_memory_share = limits.share;
  return Status::Ok();
}

net::BulkServerOptions ServerOptions(const WorkerConfig& config, const std::string& storage, std::uint64_t descriptors,
                                     std::shared_ptr<tls::Credentials> credentials) {
  net::BulkServerOptions options;
  options.bind = config.bind;
  options.port = static_cast<std::uint16_t>(config.port);
  options.local_socket = "millrace-" + storage;
  options.credentials = std::move(credentials);
  // A connection that is served takes descriptors of files, too, so half of them are for connections.
  const std::size_t room = daemon::ConnectionsFor(descriptors);
  options.max_connections = static_cast<unsigned>(config.max_connections == 0 ? std::min<std::size_t>(room / 2, 4096)
                                                                              : config.max_connections);
  options.max_per_peer = static_cast<unsigned>(config.max_connections_per_peer);
  options.max_local = static_cast<unsigned>(room / 4);
  return options;
}

// Sweeps again and again until the promise is dropped. The background has nothing that anybody waits for.
kj::Promise<void> SweepLogs(kj::Timer& timer, rpc::Background& background, DiskAttemptFiles& files,
                            const WorkerAgent& agent, const Clock& clock, const WorkerConfig& config) {
  background.Run([&files, &clock, &config,
                  here = agent.Jobs()] { files.SweepLogs(clock.Now() - config.log_retention, config.log_bytes, here); },
                 [] {});
  return timer.afterDelay(kLogSweep).then([&timer, &background, &files, &agent, &clock, &config] {
    return SweepLogs(timer, background, files, agent, clock, config);
  });
}

kj::Promise<void> UntilStopped(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).ignoreResult().exclusiveJoin(port.onSignal(SIGINT).ignoreResult());
}

// Gives the background thread the lowest priority for the disk.
void YieldTheDisk(rpc::Background& background) {
  // The interface of the kernel (ioprio_set(2)), whose header is not C++.
  constexpr int kWhoProcess = 1, kBestEffort = 2, kClassShift = 13, kLeast = 7;
  background.Run([] { (void)::syscall(SYS_ioprio_set, kWhoProcess, 0, (kBestEffort << kClassShift) | kLeast); }, [] {});
}

ScrubOptions ScrubOptionsOf(const WorkerConfig& config) {
  return {config.scrub_period, config.scrub_rate, config.directory + "/scrubbed"};
}

// The meters of the worker's disks, by directory.
class SyncMeters {
 public:
  SyncMeters(const WorkerConfig& config, const std::vector<std::string>& blocks) {
    for (const std::string& directory : blocks) Add(directory);
    Add(config.directory);
    Add(config.task_directory);
  }
  [[nodiscard]] dfs::SyncMeter* Of(const std::string& directory) { return meters_.at(directory).get(); }
  [[nodiscard]] std::vector<dfs::SyncTimes> Times() const {
    std::vector<dfs::SyncTimes> times;
    for (const auto& [directory, meter] : meters_) times.push_back(meter->Times());
    return times;
  }

 private:
  void Add(const std::string& directory) {
    const auto now = [] {
      using std::chrono::steady_clock;
      return Micros{
          std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count()};
    };
    if (!meters_.contains(directory)) meters_[directory] = std::make_unique<dfs::SyncMeter>(directory, now);
  }

  std::map<std::string, std::unique_ptr<dfs::SyncMeter>> meters_;
};

auto TellOfYieldingTrash(const Log& log) {
  return [log](const dfs::BlockStore::Swept& swept) {
    log->warn("{} blocks of {} left the trash for good: new blocks needed the room", swept.blocks,
              FormatBytes(swept.bytes));
  };
}

Result<std::unique_ptr<dfs::SpreadBlockStore>> OpenBlocks(const WorkerConfig& config,
                                                          const std::vector<std::string>& directories,
                                                          SyncMeters& meters, Micros now,
                                                          std::function<void(std::size_t, const Status&)> failing,
                                                          const Log& log) {
  const auto refused = [directories, log](std::size_t disk, int strikes, const Status& why) {
    log->error(
        "the disk of {} refused a write ({} in a row, at {} it counts as failed), and the block is written again: {}",
        directories[disk], strikes, dfs::SpreadBlockStore::kMostStrikes, why.message());
  };
  std::vector<dfs::SpreadBlockStore::Disk> disks;
  for (const std::string& directory : directories) {
    MILLRACE_ASSIGN(auto disk, dfs::OpenDiskBlockStore(directory, config.reserved_bytes, TellOfYieldingTrash(log)));
    disks.push_back({directory, std::move(disk), meters.Of(directory)});
  }
  return dfs::SpreadBlockStore::Over(std::move(disks), now, {std::move(failing), refused});
}

// A directory that is probed on a thread of its own, so that a slow disk does not delay the checks of another.
class Watched {
 public:
  Watched(std::unique_ptr<StorageProbe> probe, rpc::Mailbox& mailbox, kj::Timer& timer, Micros period,
          std::function<void(const Status&)> gone)
      : probe_(std::move(probe)),
        looks_(mailbox, "agent-look"),
        watch_(timer, looks_, *probe_, period, std::move(gone)) {
    watch_.Start();
  }

 private:
  const std::unique_ptr<StorageProbe> probe_;
  rpc::ThreadBackground looks_;
  StorageWatch watch_;
};

// Returns the names that must exist in a directory, which is the worker's own, or that of its tasks, or has blocks in
// it, or several of these.
std::vector<std::string> PartsOf(const WorkerConfig& config, const std::string& directory, bool blocks) {
  const bool own = directory == config.directory;
  std::vector<std::string> parts;
  const auto add = [&parts](const std::vector<std::string>& more) {
    parts.insert(parts.end(), more.begin(), more.end());
  };
  if (own) add(WorkerParts());
  if (directory == config.task_directory) add(TaskParts());
  if (blocks) add(BlockParts());
  if (blocks && !own) add({"block_directory"});
  return parts;
}

using Watches = std::vector<std::unique_ptr<Watched>>;

// Watches the directories of blocks, and the worker's own and that of its tasks, without which it cannot go on.
Result<Watches> WatchAll(const WorkerConfig& config, const std::vector<std::string>& directories, rpc::Mailbox& mailbox,
                         kj::Timer& timer, SyncMeters& meters, BlockDisks& disks,
                         const std::function<void(const Status&)>& over) {
  Watches watches;
  const auto watch = [&](const std::string& directory, const std::vector<std::string>& parts,
                         std::function<void(const Status&)> gone) -> Status {
    MILLRACE_ASSIGN(auto probe, DiskStorageProbe::Make(directory, parts, meters.Of(directory)));
    watches.push_back(
        std::make_unique<Watched>(std::move(probe), mailbox, timer, config.storage_check, std::move(gone)));
    return Status::Ok();
  };
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const auto gone = [&disks, i](const Status& why) { disks.Failed(i, why); };
    MILLRACE_TRY(watch(directories[i], PartsOf(config, directories[i], true), gone));
  }
  for (const std::string& needed : std::set<std::string>{config.directory, config.task_directory}) {
    if (std::find(directories.begin(), directories.end(), needed) != directories.end()) continue;
    const auto gone = [over, needed](const Status& why) { over(StorageGone(needed, why)); };
    MILLRACE_TRY(watch(needed, PartsOf(config, needed, false), gone));
  }
  return watches;
}

// Looks for the notice that this machine will be taken away, and lets the agent tell the master.
class SpotWatch {
 public:
  // Null if the notice is not looked for.
  static Result<std::unique_ptr<SpotWatch>> Start(const WorkerConfig& config, kj::Timer& timer, rpc::Mailbox& mailbox,
                                                  const Clock& clock, WorkerAgent& agent, const Log& log) {
    if (config.spot_notice == "off") return std::unique_ptr<SpotWatch>();
    const std::string url = config.spot_notice == "auto" ? MetadataService::kUrl : config.spot_notice;
    auto service = MetadataService::At(url, clock);
    if (!service.ok()) return service.status().Within("spot.notice");
    log->info("looking for a notice that this machine will be taken away at {}", url);
    auto changed = [&timer, &clock, &agent, log](const std::optional<SpotNotice>& notice) {
      if (!notice) {
        log->info("this machine is not taken away after all: its notice was withdrawn, or its recommendation is old");
        return agent.Foretell(std::nullopt);
      }
      const Micros in = notice->at - clock.Now();
      const bool perhaps = notice->action == kPerhaps;
      if (perhaps) {
        log->warn("this machine is drained for {} s, as it may be taken away (spot.rebalance)", in / kSecond);
      } else {
        log->warn("this machine will be taken away in {} s (spot notice: {}); the master is told", in / kSecond,
                  notice->action);
      }
      agent.Foretell(Departure{timer.now() + in * kj::MICROSECONDS,
                               perhaps ? "perhaps: a rebalance recommendation" : "spot notice"});
    };
    return std::unique_ptr<SpotWatch>(
        new SpotWatch(config, timer, clock, mailbox, *std::move(service), std::move(changed), log));
  }

 private:
  SpotWatch(const WorkerConfig& config, kj::Timer& timer, const Clock& clock, rpc::Mailbox& mailbox,
            std::unique_ptr<NoticeSource> source, NoticeWatch::Changed changed, Log log)
      : source_(std::move(source)),
        asking_(mailbox, "agent-notice"),
        watch_(timer, clock, asking_, *source_, config.spot_rebalance, std::move(changed), std::move(log)) {
    watch_.Start();
  }

  const std::unique_ptr<NoticeSource> source_;
  rpc::ThreadBackground asking_;
  NoticeWatch watch_;
};

// Returns the ends of this worker's certificates; nothing without TLS.
std::vector<tls::CertificateEnd> CertificatesOf(const std::shared_ptr<tls::Credentials>& credentials) {
  if (credentials == nullptr) return {};
  const tls::CertificateEnds ends = credentials->Ends();
  return {{"this worker's", ends.own}, {"the authority's", ends.authority}};
}

// Logs again and again which of them end soon, until the promise is dropped.
kj::Promise<void> LogCertificates(kj::Timer& timer, const Clock& clock, tls::ExpiryLog& due,
                                  const std::shared_ptr<tls::Credentials>& credentials, const Log& log) {
  if (credentials == nullptr) return kj::NEVER_DONE;
  for (const Notice& notice : due.Due(CertificatesOf(credentials), clock.Now())) log->warn("{}", notice.line);
  return timer.afterDelay(10 * kj::SECONDS).then([&timer, &clock, &due, &credentials, &log] {
    return LogCertificates(timer, clock, due, credentials, log);
  });
}

daemon::Health HealthOf(const WorkerAgent& agent, const WorkerConfig& config,
                        const std::vector<tls::CertificateEnd>& certificates, Micros now) {
  daemon::Health health{{}, tls::ExpiryNotices(certificates, now)};
  if (!agent.registered()) {
    health.faults.push_back({NoticeCode::kNoSession,
                             "no session with the master at " + config.master + " (worker.master); the log says why"});
  }
  return health;
}

std::string MetricsOf(const WorkerAgent& agent, const WorkerConfig& config, const dfs::BlockStore& blocks,
                      const BulkPlane& plane) {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto micros = [](const timeval& time) { return static_cast<Micros>(time.tv_sec) * kSecond + time.tv_usec; };
  return WorkerMetrics({.version = ThisRelease().version,
                        .registered = agent.registered(),
                        .map_slots = config.map_slots,
                        .reduce_slots = config.reduce_slots,
                        .attempts = agent.running(),
                        .space = blocks.space(),
                        .shuffle_bytes = plane.SentBytes(),
                        .processor_time = micros(use.ru_utime) + micros(use.ru_stime)});
}

// Parts are destroyed before those that they use: the agent, its processes, the bulk server, threads, the mailbox.
Status Serve(const WorkerConfig& config, const std::string& minder, const Log& log) {
  if (::access(minder.c_str(), X_OK) != 0) {
    return FromErrno(errno, "cannot run " + Quote(minder) + ", which lies beside the program millrace; install it");
  }
  // This comes before any thread is started: threads inherit the mask, so the signals come to this one.
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  std::optional<EndGuard> guard;  // first: it is there until all else has ended
  daemon::ServiceManager manager(daemon::ServiceManager::TakeEnvironment(), ::getpid());
  const std::uint64_t descriptors = daemon::RaiseDescriptorLimit();
  MILLRACE_TRY(daemon::CheckThreads(kThreads));
  Random random(SeedFromSystem());
  MILLRACE_ASSIGN(const auto credentials, tls::LoadForDaemon(config.tls, config.bind, tls::Role::kWorker, log));
  MILLRACE_ASSIGN(const StorageLock storage, StorageLock::Acquire(config.directory, random));
  Fd task_lock;
  if (config.task_directory != config.directory) {
    MILLRACE_ASSIGN(task_lock, LockTaskDirectory(config.task_directory));
  }
  const std::string local_socket = "millrace-" + storage.id();
  const auto master = [&config, credentials]() -> Result<dfs::ClientOptions> {
    dfs::ClientOptions options;
    options.master = config.master;
    options.credentials = credentials;
    MILLRACE_ASSIGN(options.cluster, ReadClusterOf(config.directory));
    return options;
  };
  ClusterPeers peers(config.master, local_socket, master, log);
  MILLRACE_ASSIGN(const auto confiner, OpenConfiner(config, minder, peers, log));
  MILLRACE_ASSIGN(const auto files,
                  DiskAttemptFiles::Open(config.task_directory, config.reserved_bytes,
                                         confiner == nullptr ? std::nullopt : confiner->users(), log));
  MILLRACE_ASSIGN(const auto directories,
                  AdoptBlockDirectories(config.directory, storage.id(), config.block_directories, random));
  if (config.task_directory != config.directory && std::ranges::count(directories, config.task_directory) > 0) {
    return Invalid("worker.task_directory " + config.task_directory +
                   " is in worker.block_directories, too; give a directory beside it");
  }
  if (const Status adopts = AdoptOrphans(); !adopts.ok()) log->warn("{}", adopts.message());
  auto io = kj::setupAsyncIo();
  // A peer that always has something to say would otherwise keep the loop from all others, and from the time.
  io.waitScope.setBusyPollInterval(kTurnsBetweenLooks);
  kj::Timer& timer = io.provider->getTimer();
  const SystemClock clock;
  rpc::Mailbox mailbox;
  SyncMeters meters(config, directories);
  std::unique_ptr<BlockDisks> disks;
  const auto failing = [&mailbox, &disks](std::size_t number, const Status& why) {
    mailbox.Post([&disks, number, why] { disks->Failed(number, why); });
  };
  MILLRACE_ASSIGN(const auto blocks, OpenBlocks(config, directories, meters, clock.Now(), failing, log));
  rpc::ThreadBackground disk(mailbox, "agent-disk"), fetches(mailbox, "agent-fetch"), checks(mailbox, "agent-check"),
      scrubbing(mailbox, "agent-scrub"), outputs(mailbox, "agent-outputs"), ends(mailbox, "agent-ends"),
      orphans(mailbox, "agent-orphans"), archiving(mailbox, "agent-archive"), pythons(mailbox, "agent-python");
  net::BulkServer server(ServerOptions(config, storage.id(), descriptors, credentials), log);
  const shuffle::CopyOptions copy{.max_connections = static_cast<unsigned>(config.copy_connections),
                                  .stall = config.copy_stall,
                                  .reserved_bytes = config.reserved_bytes};
  BulkPlane plane(server, *blocks, files->directories(), mailbox, disk, outputs, copy, log);
  if (confiner != nullptr) PassReadOnly(plane, *confiner, LauncherOf(minder), directories, log);
  MILLRACE_TRY(server.Start());
  MILLRACE_ASSIGN(const auto executables,
                  ExecutableCache::Open(config.task_directory, config.executable_cache, FetchFrom(config, credentials),
                                        fetches, log, {.reserved_bytes = config.reserved_bytes}));
  ProcessRunner runner({io.unixEventPort, *io.lowLevelProvider, timer},
                       LimitsOf(config, minder, *files, confiner.get(), credentials), ends, orphans, log);
  const char* const path = std::getenv("PATH");  // that of tasks is the worker's own (spawn.h)
  PythonWatch python(timer, pythons, path == nullptr ? "" : path, ViewOf(confiner.get()));
  rpc::TcpDialer dialer(io.provider->getNetwork(), credentials);
  rpc::TcpDialer peer_dialer(io.provider->getNetwork());  // only looks who can be reached, and says nothing
  const auto join = [&config](const std::string& cluster) { return StoreClusterOf(config.directory, cluster); };
  auto agent = std::make_unique<WorkerAgent>(
      AgentParts{
          timer, dialer, runner, *blocks, plane, *files, *executables, disk, checks, clock, &peer_dialer,
          [&meters] { return meters.Times(); },
          credentials == nullptr ? std::function<Micros()>() : [credentials] { return credentials->Ends().first(); },
          [&python] { return python.found(); }, &archiving, StoreIn(config, credentials)},
      config,
      WorkerIdentity{storage.id(), server.port(), local_socket, storage.cluster(), join,
                     confiner == nullptr ? "none" : ToText(confiner->parts()), storage.told(),
                     [&config](const Moment& told) { return StoreTold(config.directory, told); }, CoresOfMachine()},
      Random(random.Next()), log);
  agent->OnRegistered([&config, &log, &manager](NodeId node) {
    NameLog(log, "worker", NameOf(config, node), config.log);
    manager.Say("node " + std::to_string(node.value) + " of the master at " + config.master);
    if (config.ready_file.empty()) return;
    const Status written = WriteLocalFile(config.ready_file, std::to_string(node.value) + "\n");
    if (!written.ok()) log->error("{}", written.message());
  });
  log->info("worker {} serves {} at {}:{}", storage.id(), config.directory, AddressOf(config), server.port());
  log->info("slots: {} for maps (worker.map_slots) and {} for reduces (worker.reduce_slots); cores: {}",
            config.map_slots, config.reduce_slots, config.cores);
  agent->Start();
  manager.Ready("waits for the master at " + config.master);
  MILLRACE_ASSIGN(const std::unique_ptr<daemon::HealthPages> pages,
                  daemon::HealthPages::Start(config.health_listen, log));
  MILLRACE_ASSIGN(const std::unique_ptr<daemon::MetricsPages> metrics,
                  daemon::MetricsPages::Start(config.metrics_listen, log));
  YieldTheDisk(checks);
  YieldTheDisk(scrubbing);
  YieldTheDisk(archiving);
  Scrubber scrubber(timer, clock, *blocks, scrubbing, ScrubOptionsOf(config),
                    [&agent](const CheckedBlock& checked) { agent->Found(checked); });
  if (config.scrub_period > 0) scrubber.Start();
  Status storage_status;
  auto gone = kj::newPromiseAndFulfiller<void>();
  const auto over = [&](const Status& why) {
    if (!storage_status.ok()) return;
    storage_status = why;
    log->error("{}", storage_status.message());
    gone.fulfiller->fulfill();
  };
  const auto lost = [&agent](const std::vector<std::uint64_t>& ids) { agent->LostBlocks(ids); };
  disks = std::make_unique<BlockDisks>(*blocks, directories, config.directory, config.failed_disks,
                                       BlockDisks::Events{lost, over}, log);
  MILLRACE_ASSIGN(const Watches watches, WatchAll(config, directories, mailbox, timer, meters, *disks, over));
  MILLRACE_ASSIGN(auto spot, SpotWatch::Start(config, timer, mailbox, clock, *agent, log));
  tls::ExpiryLog expiry_log;
  UntilStopped(io.unixEventPort)
      .exclusiveJoin(SweepLogs(timer, scrubbing, *files, *agent, clock, config))
      .exclusiveJoin(kj::mv(gone.promise))
      .exclusiveJoin(manager.TellAlive(timer))
      .exclusiveJoin(LogCertificates(timer, clock, expiry_log, credentials, log))
      .exclusiveJoin(
          pages->Follow(timer, [&] { return HealthOf(*agent, config, CertificatesOf(credentials), clock.Now()); }))
      .exclusiveJoin(metrics->Follow(timer, [&] { return MetricsOf(*agent, config, *blocks, plane); }))
      .wait(io.waitScope);
  log->info("the worker stops");
  guard.emplace(kLongestEnd, [log, failed = !storage_status.ok()] {
    log->warn("the worker ends without waiting any longer for its disks, its peers and what tasks left");
    log->flush();
    ::_exit(failed ? 1 : 0);
  });
  manager.Stopping();
  (storage_status.ok() ? agent->Leave() : agent->Leave(storage_status.message())).wait(io.waitScope);
  spot.reset();
  agent.reset();  // stops copies before the threads on which they run
  server.Stop();
  return storage_status;
}

}  // namespace

int RunWorker(const std::vector<std::string>& args, const std::string& minder, const console::Console& console) {
  WorkerConfig config;
  OptionSet options = DeclareWorkerOptions(&config);
  console::Arguments arguments("worker", "", "Runs a worker: the block server and the task slots of one machine.");
  arguments.Settings(&options);
  if (const auto exit = arguments.Parse(args, console, 0, 0)) return *exit;
  if (const Status checked = CheckWorkerConfig(config); !checked.ok()) return Fail(checked, 2);
  KeepOthersFromWriting();
  const Result<std::string> directory = AbsolutePath(config.directory);
  if (!directory.ok()) return Fail(directory.status().Within("worker.directory"), 2);
  config.directory = *directory;
  const Result<std::string> tasks = AbsolutePath(config.task_directory.empty() ? *directory : config.task_directory);
  if (!tasks.ok()) return Fail(tasks.status().Within("worker.task_directory"), 2);
  config.task_directory = *tasks;
  if (const Status resolved = ResolveResources(&config); !resolved.ok()) return Fail(resolved, 2);
  const Log log = MakeLog("worker", NameOf(config, std::nullopt), config.log);
  try {
    const Status served = Serve(config, minder, log);
    return served.ok() ? 0 : Fail(served, 1);
  } catch (const kj::Exception& e) {
    return Fail(rpc::FromException(e), 1);
  }
}

}  // namespace millrace::worker
