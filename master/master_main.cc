// SPDX-License-Identifier: Apache-2.0
#include "master/master_main.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/async.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "base/cluster_id.h"
#include "base/console/arguments.h"
#include "base/daemon/health_pages.h"
#include "base/daemon/http_client.h"
#include "base/daemon/limits.h"
#include "base/daemon/metrics.h"
#include "base/daemon/service_manager.h"
#include "base/file.h"
#include "base/kv/rocks_store.h"
#include "base/local_place.h"
#include "base/log.h"
#include "base/machine_size.h"
#include "base/program.h"
#include "base/random.h"
#include "base/rpc/background.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/control_thread.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "base/thread.h"
#include "base/tls/tls_files.h"
#include "master/control/cluster_record.h"
#include "master/control/cluster_summary.h"
#include "master/control/control.h"
#include "master/control/master_config.h"
#include "master/control/metered_log.h"
#include "master/master_metrics.h"
#include "master/otlp.h"
#include "master/service/master_service.h"
#include "master/trace_export.h"

namespace millrace::master {
namespace {

// BackupRunner makes backups of the master's database on a thread of its own, one at a time, while the master serves.
// Thread rule: the control thread.
class BackupRunner {
 public:
  // Requires: the BackupRunner is made on the control thread, and `store` outlives it.
  explicit BackupRunner(RocksStore& store) : store_(store) {}
  ~BackupRunner();  // waits for the backup under way

  // Does what RocksStore::BackUp does. Rejects with kBusy while another backup is under way.
  [[nodiscard]] kj::Promise<BackupFacts> Run(const std::string& directory, const BackupPlan& plan);

 private:
  RocksStore& store_;
  rpc::Mailbox mailbox_;
  bool under_way_ = false;
  kj::Own<kj::PromiseFulfiller<BackupFacts>> fulfiller_;
  std::jthread thread_;
};

BackupRunner::~BackupRunner() {
  if (thread_.joinable()) thread_.join();
}

kj::Promise<BackupFacts> BackupRunner::Run(const std::string& directory, const BackupPlan& plan) {
  if (std::exchange(under_way_, true)) {
    return rpc::ToException(Busy("back up to " + directory + ": another backup is under way; wait for its end"));
  }
  if (thread_.joinable()) thread_.join();
  auto answer = kj::newPromiseAndFulfiller<BackupFacts>();
  fulfiller_ = kj::mv(answer.fulfiller);
  Result<std::jthread> started = StartThread([this, directory, plan] {
    NameThread("backup");
    mailbox_.Post([this, done = store_.BackUp(directory, plan)] {
      under_way_ = false;
      if (done.ok()) return fulfiller_->fulfill(kj::cp(*done));
      fulfiller_->reject(rpc::ToException(done.status()));
    });
  });
  if (!started.ok()) {
    under_way_ = false;
    return rpc::ToException(started.status().Within("back up to " + directory));
  }
  thread_ = *std::move(started);
  return kj::mv(answer.promise);
}

int Fail(const Status& why, int status = 1) {
  std::cerr << "millrace: master: " << why.message() << "\n";
  return status;
}

constexpr std::size_t kThreads = 32;  // of its own and of the database, and some to spare

kj::Promise<void> UntilStopped(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).ignoreResult().exclusiveJoin(port.onSignal(SIGINT).ignoreResult());
}

rpc::ServerLimits LimitsOf(const MasterConfig& config, std::uint64_t descriptors) {
  rpc::ServerLimits limits;
  limits.max_connections = config.max_connections == 0 ? daemon::ConnectionsFor(descriptors)
                                                       : static_cast<std::size_t>(config.max_connections);
  limits.max_per_peer = static_cast<std::size_t>(config.max_connections_per_peer);
  limits.message_bytes = config.message_memory;
  return limits;
}

daemon::Health HealthOf(Control& control) {
  const ClusterSummary summary = Summarize(control.summary());
  return {FaultsOf(summary), WarningsOf(summary)};
}

std::string MetricsOf(Control& control, const MeteredLog& commits) {
  const ClusterSummary summary = Summarize(control.summary());
  std::uint64_t silent = 0;
  for (const auto& [number, node] : control.nodes().all()) {
    if (node.alive) silent = std::max(silent, control.workers().MillisSilent(node));
  }
  return MasterMetrics({.summary = summary,
                        .tallies = control.jobs().tallies(),
                        .cost = control.jobs().deciding_cost(),
                        .commits = commits.times(),
                        .oldest_heartbeat = static_cast<Micros>(silent) * kMillisecond,
                        .processor_time = control.seams().meters.processor_time()});
}

// Returns a function that gives the ends of the certificates; nothing without TLS.
std::function<tls::CertificateEnds()> EndsOf(const std::shared_ptr<tls::Credentials>& credentials) {
  if (credentials == nullptr) return nullptr;
  return [credentials] { return credentials->Ends(); };
}

// A file that has this text already is not written, since the disk may be full.
Status TellAddress(const std::string& path, const std::string& text) {
  const Result<std::string> there = ReadWholeFile(path);
  return there.ok() && *there == text ? Status::Ok() : WriteLocalFile(path, text);
}

// Returns the key of tokens, which is kept in the directory, so that tokens outlive a restart: a write goes on over it.
Result<tls::TokenKey> KeepTokenKey(const std::string& directory) {
  const std::string file = directory + "/token-key";
  const Result<std::string> kept = tls::ReadKeyFile(file);
  if (kept.status().code() == StatusCode::kDenied) return kept.status();
  if (kept.ok() && kept->size() == tls::TokenKey::kBytes) return tls::TokenKey(*kept);
  if (!kept.ok() && kept.status().code() != StatusCode::kNotFound) return kept.status();
  tls::TokenKey made(tls::TokenKey::MakeRandom());
  MILLRACE_TRY(tls::PutFile(file, made.bytes(), tls::kForOwner, true));
  return made;
}

// Returns the size of the spare log, which takes changes that make room on a full disk.
std::uint64_t SpareBytes(const MasterConfig& config) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20, kLeast = std::uint64_t{256} << 10;
  const std::uint64_t bytes = std::min(config.reserved_bytes / 4, kMost);
  return bytes < kLeast ? 0 : bytes;
}

EndedJob TraceOf(Control& control, const JobRecord& record) {
  EndedJob job{.cluster = control.identity().cluster, .record = record, .attempts = {}, .hosts = {}};
  if (auto attempts = control.jobs().Attempts(record.id); attempts.ok()) job.attempts = *std::move(attempts);
  for (const AttemptRecord& attempt : job.attempts) {
    if (const NodeRecord* node = control.nodes().Find(attempt.node))
      job.hosts.emplace(attempt.node, node->facts.name.empty() ? node->facts.host : node->facts.name);
  }
  return job;
}

std::vector<std::string> Listed(const std::string& commas) {
  std::vector<std::string> parts;
  std::istringstream in(commas);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// Returns what starts the process of a scheduler's program. How it can be confined is found out when the first one is
// started, on the thread that starts it.
outside::Launch LaunchOf(const MasterConfig& config, const std::string& launchers) {
  if (config.program_sandbox == "off") {
    return [directory = config.programs](const std::string& program) {
      return outside::LaunchHere(directory + "/" + program);
    };
  }
  sandbox::AloneOptions options;
  options.directory = launchers;
  options.hidden = {"/etc/millrace", config.directory};
  // The key may lie elsewhere; its directory is hidden unless it is one of the system, such as /etc.
  const std::string keys = config.tls.key.substr(0, config.tls.key.rfind('/') + 1);
  if (std::ranges::count(keys, '/') > 2 && !keys.starts_with("/etc/millrace/"))
    options.hidden.push_back(keys.substr(0, keys.size() - 1));
  options.readable = Listed(config.program_paths);
  // Packages of Python lie there, too.
  std::string python;
  for (const std::string& path : options.readable) python += (python.empty() ? "" : ":") + path;
  if (!python.empty()) options.variables.push_back("PYTHONPATH=" + python);
  options.memory = config.program_memory;
  options.cgroups = true;
  const auto alone = std::make_shared<std::unique_ptr<sandbox::Alone>>();
  return
      [options, alone, directory = config.programs](const std::string& program) -> Result<std::unique_ptr<LineChild>> {
        if (*alone == nullptr) {
          auto opened = sandbox::Alone::Open(options);
          if (!opened.ok()) {
            return Unsupported(opened.status().message() +
                               "; master.program_sandbox = off runs programs with the master's rights");
          }
          *alone = std::move(*opened);
        }
        return outside::LaunchAlone(**alone, directory + "/" + program);
      };
}

// Null if there can be no programs.
outside::Starter StarterOf(const MasterConfig& config, const std::string& launchers) {
  constexpr Micros kPatience = 10 * kSecond;  // less than a client waits for its call
  if (config.programs.empty()) return nullptr;
  return [launch = LaunchOf(config, launchers)](const std::string& program) {
    return outside::Start(launch, program, "live", kPatience);
  };
}

Status Serve(const MasterConfig& config, const std::string& launchers, const Log& log) {
  daemon::ServiceManager manager(daemon::ServiceManager::TakeEnvironment(), ::getpid());
  // This comes before any thread is started, those of the database included: threads inherit the signal mask, so that
  // the signals come to this one.
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  const std::uint64_t descriptors = daemon::RaiseDescriptorLimit();
  MILLRACE_ASSIGN(const auto credentials, tls::LoadForDaemon(config.tls, config.bind.substr(0, config.bind.rfind(':')),
                                                             tls::Role::kMaster, log));
  if (credentials == nullptr && !config.access_file.empty()) {
    log->warn("access.file {} is without effect: there is no TLS, and everybody may do everything", config.access_file);
  }
  MILLRACE_ASSIGN(std::unique_ptr<RocksStore> store, OpenCluster(config.directory, SpareBytes(config)));
  std::function<std::string()> copy_problem;
  if (!config.journal_copy.empty()) {
    MILLRACE_ASSIGN(
        std::unique_ptr<MirroredStore> mirrored,
        OpenCopy(std::move(store), config.journal_copy, [&log](const std::string& line) { log->error("{}", line); }));
    copy_problem = [&mirrored = *mirrored] { return mirrored.copy_problem(); };
    store = std::move(mirrored);
  }
  auto io = kj::setupAsyncIo();
  auto paf = kj::newPromiseAndFulfiller<void>();
  Status disk;
  const auto commit_log = std::make_unique<MeteredLog>(
      rpc::MakeThreadedCommitLog(*store,
                                 [&](const Status& failure) {
                                   disk = failure.Within("write the database");
                                   if (failure.code() == StatusCode::kNoSpace) {
                                     disk = NoSpace(disk.message() +
                                                    "; make room there: a master that is started before that is "
                                                    "read-only");
                                   }
                                   paf.fulfiller->fulfill();
                                 }),
      SystemMeters().nanoseconds);
  const SystemClock clock;
  kj::Timer& timer = io.provider->getTimer();
  rpc::TcpDialer dialer(io.provider->getNetwork());
  BackupRunner backups(*store);
  rpc::Mailbox mailbox;
  rpc::ThreadBackground background(mailbox, "forecast");
  std::optional<rpc::ThreadBackground> programs;
  if (!config.programs.empty()) programs.emplace(mailbox, ThreadName("program"));
  // A disk that is full keeps no new key, and must not keep the master from starting.
  Result<tls::TokenKey> kept = KeepTokenKey(config.directory);
  if (!kept.ok() && kept.status().code() != StatusCode::kNoSpace) return kept.status();
  if (!kept.ok()) log->warn("the token key could not be saved: {}", kept.status().message());
  const tls::TokenKey write_key = kept.ok() ? *kept : tls::TokenKey(tls::TokenKey::MakeRandom());
  const std::optional<tls::TokenKey> token_key = credentials == nullptr ? std::nullopt : std::optional(write_key);
  MILLRACE_ASSIGN(const std::unique_ptr<Control> control,
                  Control::Make(config, ControlDependencies{
                                            timer,
                                            clock,
                                            *store,
                                            *commit_log,
                                            Random(SeedFromSystem()),
                                            SeedFromSystem,
                                            log,
                                            config.scheduler_file.empty() ? nullptr : WatchFile(config.scheduler_file),
                                            [&backups](const std::string& directory, const BackupPlan& plan) {
                                              return backups.Run(directory, plan);
                                            },
                                            [&]() -> Result<Room> {
                                              MILLRACE_ASSIGN(const std::uint64_t free, FreeBytes(config.directory));
                                              return Room{free, store->room_needed()};
                                            },
                                            &dialer,
                                            SystemMeters(),
                                            ThisRelease(),
                                            token_key,
                                            config.access_file.empty() ? nullptr : WatchFile(config.access_file),
                                            write_key,
                                            store.get(),
                                            credentials == nullptr,
                                            std::move(copy_problem),
                                            EndsOf(credentials),
                                            &background,
                                            programs ? &*programs : nullptr,
                                            StarterOf(config, launchers)}));
  std::unique_ptr<TraceExport> traces;
  if (!config.trace_collector.empty()) {
    const Result<http::Origin> collector = http::ParseOrigin(config.trace_collector);
    if (!collector.ok()) return collector.status().Within("trace.collector");
    traces = std::make_unique<TraceExport>(*collector, log);
    control->steps().OnEnded([&control, &traces](const JobRecord& record) { traces->Take(TraceOf(*control, record)); });
  }
  auto server = std::make_unique<rpc::Server>(timer, MakeMasterServices(*control), LimitsOf(config, descriptors));
  server->UseTls(credentials);
  server->OnTrouble([&log](const std::string& line) { log->warn("{}", line); });
  auto listening = rpc::Listen(io.provider->getNetwork(), config.bind).wait(io.waitScope);
  const std::string address = config.bind.substr(0, config.bind.rfind(':')) + ":" + std::to_string(listening.port);
  log->info("the master of cluster {} serves at {} with scheduler {}", control->identity().cluster, address,
            control->scheduler().name());
  if (!config.address_file.empty()) MILLRACE_TRY(TellAddress(config.address_file, address + "\n"));
  MILLRACE_ASSIGN(const std::unique_ptr<daemon::HealthPages> pages,
                  daemon::HealthPages::Start(config.health_listen, log));
  MILLRACE_ASSIGN(const std::unique_ptr<daemon::MetricsPages> metrics,
                  daemon::MetricsPages::Start(config.metrics_listen, log));
  manager.Ready("serves cluster " + control->identity().cluster + " at " + address);
  server->AcceptLoop(kj::mv(listening.receiver))
      .exclusiveJoin(UntilStopped(io.unixEventPort))
      .exclusiveJoin(manager.TellAlive(timer))
      .exclusiveJoin(pages->Follow(timer, [&control] { return HealthOf(*control); }))
      .exclusiveJoin(metrics->Follow(timer, [&] { return MetricsOf(*control, *commit_log); }))
      .exclusiveJoin(kj::mv(paf.promise))
      .wait(io.waitScope);
  log->info("the master stops");
  manager.Stopping();
  server.reset();
  io.waitScope.poll();  // drops what the connections held before `control` goes
  return disk;
}

int Init(const MasterConfig& config) {
  const std::string id = FormatClusterId(SeedFromSystem(), SeedFromSystem());
  const Status made = InitCluster(config.directory, id);
  if (!made.ok()) return Fail(made);
  std::cout << id << "\n" << std::flush;
  return std::cout ? 0 : Fail(Status(StatusCode::kIo, "cannot write the id of the new cluster to standard output"));
}

constexpr const char* kAbout =
    "Runs the master: name node and job tracker of a cluster. While it runs, `millrace master backup DIRECTORY` adds a "
    "backup of its database. While it does not, `millrace master restore DIRECTORY` makes a database from the latest "
    "backup, and `millrace master repair` shows and takes the last good state of a damaged one, or, with --skip, all "
    "of it except damaged records.";

}  // namespace

int RunMaster(const std::vector<std::string>& args, const std::string& launchers, const console::Console& console) {
  if (const Status threads = daemon::CheckThreads(kThreads); !threads.ok()) return Fail(threads);
  const std::string verb = args.empty() ? "" : args[0];
  if (verb == "restore") return RunRestore({args.begin() + 1, args.end()}, console);
  if (verb == "repair") return RunRepair({args.begin() + 1, args.end()}, console);
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  bool init = false;
  console::Arguments arguments("master", "", kAbout);
  arguments.Settings(&options);
  arguments.Flag("--init", &init, "make a new, empty cluster in master.directory, print its id and exit");
  if (const auto exit = arguments.Parse(args, console, 0, 0)) return *exit;
  if (const Status checked = CheckMasterConfig(config); !checked.ok()) return Fail(checked, 2);
  KeepOthersFromWriting();
  if (init) return Init(config);
  const Log log = MakeLog("master", "", config.log);
  try {
    const Status served = Serve(config, launchers, log);
    return served.ok() ? 0 : Fail(served);
  } catch (const kj::Exception& e) {
    return Fail(rpc::FromException(e));
  }
}

}  // namespace millrace::master
