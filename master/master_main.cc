#include "master/master_main.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <signal.h>

#include <iostream>

#include "base/daemon/arguments.h"
#include "base/daemon/descriptors.h"
#include "base/file.h"
#include "base/kv/rocks_store.h"
#include "base/log.h"
#include "base/random.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "master/backup_runner.h"
#include "master/control.h"
#include "master/database_verbs.h"
#include "master/master_config.h"
#include "master/master_service.h"

namespace millrace::master {
namespace {

int Fail(const Status& why) {
  std::cerr << "millrace: master: " << why.message() << "\n";
  return 1;
}

kj::Promise<void> UntilStopped(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).ignoreResult().exclusiveJoin(port.onSignal(SIGINT).ignoreResult());
}

Result<std::unique_ptr<RocksStore>> OpenDatabase(const std::string& directory) {
  Result<std::unique_ptr<RocksStore>> store = OpenRocksStore(directory);
  if (store.status().code() != StatusCode::kCorrupt) return store;
  return Corrupt(std::string(store.status().message()) +
                 "; else `millrace master restore` takes a backup, and `millrace master repair` says what can be saved");
}

rpc::ServerLimits LimitsOf(const MasterConfig& config, std::uint64_t descriptors) {
  rpc::ServerLimits limits;
  limits.max_connections = config.max_connections == 0 ? daemon::ConnectionsFor(descriptors)
                                                       : static_cast<std::size_t>(config.max_connections);
  limits.max_per_peer = static_cast<std::size_t>(config.max_connections_per_peer);
  limits.message_bytes = config.message_memory;
  return limits;
}

Status Serve(const MasterConfig& config, const Log& log) {
  // Before any thread is started, those of the database too: they inherit the mask, so that the signals come to this one.
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  const std::uint64_t descriptors = daemon::RaiseDescriptorLimit();
  MILLRACE_TRY(MakeDirectories(config.directory));
  MILLRACE_ASSIGN(const std::unique_ptr<RocksStore> store, OpenDatabase(config.directory + "/database"));
  auto io = kj::setupAsyncIo();
  auto paf = kj::newPromiseAndFulfiller<void>();
  Status disk;
  const std::unique_ptr<rpc::CommitLog> commit_log = rpc::MakeThreadedCommitLog(*store, [&](const Status& failure) {
    disk = failure.Within("write the database");
    paf.fulfiller->fulfill();
  });
  const SystemClock clock;
  kj::Timer& timer = io.provider->getTimer();
  BackupRunner backups(*store);
  MILLRACE_ASSIGN(
      const std::unique_ptr<Control> control,
      Control::Make(config, Seams{timer, clock, *store, *commit_log, Random(SeedFromSystem()), SeedFromSystem, log,
                                  config.scheduler_file.empty() ? nullptr : WatchFile(config.scheduler_file),
                                  [&backups](const std::string& directory) { return backups.Run(directory); }}));
  rpc::TcpDialer dialer(io.provider->getNetwork());
  auto server =
      std::make_unique<rpc::Server>(timer, MakeMasterServices(*control, &dialer), LimitsOf(config, descriptors));
  server->OnTrouble([&log](const std::string& line) { log->warn("{}", line); });
  auto listening = rpc::Listen(io.provider->getNetwork(), config.bind).wait(io.waitScope);
  const std::string address = config.bind.substr(0, config.bind.rfind(':')) + ":" + std::to_string(listening.port);
  log->info("the master serves at {} with scheduler {}", address, control->scheduler());
  if (!config.address_file.empty()) MILLRACE_TRY(WriteFileDurably(config.address_file, address + "\n"));
  server->AcceptLoop(kj::mv(listening.receiver))
      .exclusiveJoin(UntilStopped(io.unixEventPort))
      .exclusiveJoin(kj::mv(paf.promise))
      .wait(io.waitScope);
  log->info("the master stops");
  server.reset();
  io.waitScope.poll();  // what the connections held goes before what it refers to
  return disk;
}

}  // namespace

int RunMaster(const std::vector<std::string>& args) {
  const std::string verb = args.empty() ? "" : args[0];
  if (verb == "restore") return RunRestore({args.begin() + 1, args.end()});
  if (verb == "repair") return RunRepair({args.begin() + 1, args.end()});
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  if (const auto exit =
          daemon::ParseArguments("master", "The master: name node and job tracker of a cluster.", args, options))
    return *exit;
  const Log log = MakeLog("master", config.log_level);
  try {
    const Status served = Serve(config, log);
    return served.ok() ? 0 : Fail(served);
  } catch (const kj::Exception& e) {
    return Fail(rpc::FromException(e));
  }
}

}  // namespace millrace::master
