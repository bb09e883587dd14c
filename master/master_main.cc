#include "master/master_main.h"

#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <signal.h>

#include <iostream>

#include "base/cluster_id.h"
#include "base/daemon/arguments.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "master/cluster_record.h"
#include "master/control.h"
#include "master/master_config.h"
#include "master/master_service.h"

namespace millrace::master {
namespace {

int Fail(const Status& why, int status = 1) {
  std::cerr << "millrace: master: " << why.message() << "\n";
  return status;
}

kj::Promise<void> UntilStopped(kj::UnixEventPort& port) {
  return port.onSignal(SIGTERM).ignoreResult().exclusiveJoin(port.onSignal(SIGINT).ignoreResult());
}

Status Serve(const MasterConfig& config, const Log& log) {
  MILLRACE_ASSIGN(const std::unique_ptr<KeyValueStore> store, OpenCluster(config.directory));
  kj::UnixEventPort::captureSignal(SIGTERM);
  kj::UnixEventPort::captureSignal(SIGINT);
  auto io = kj::setupAsyncIo();
  auto paf = kj::newPromiseAndFulfiller<void>();
  Status disk;
  const std::unique_ptr<rpc::CommitLog> commit_log = rpc::MakeThreadedCommitLog(*store, [&](const Status& failure) {
    disk = failure.Within("write the database");
    paf.fulfiller->fulfill();
  });
  const SystemClock clock;
  MILLRACE_ASSIGN(
      const std::unique_ptr<Control> control,
      Control::Make(config, Seams{io.provider->getTimer(), clock, *store, *commit_log, Random(SeedFromSystem()), log,
                                  config.scheduler_file.empty() ? nullptr : WatchFile(config.scheduler_file)}));
  rpc::Server server(MakeMasterService(*control), {});
  auto listening = rpc::Listen(io.provider->getNetwork(), config.bind).wait(io.waitScope);
  const std::string address = config.bind.substr(0, config.bind.rfind(':')) + ":" + std::to_string(listening.port);
  log->info("the master of cluster {} serves at {} with scheduler {}", control->cluster(), address, config.scheduler);
  if (!config.address_file.empty()) MILLRACE_TRY(WriteFileDurably(config.address_file, address + "\n"));
  server.AcceptLoop(kj::mv(listening.receiver))
      .exclusiveJoin(UntilStopped(io.unixEventPort))
      .exclusiveJoin(kj::mv(paf.promise))
      .wait(io.waitScope);
  log->info("the master stops");
  return disk;
}

int Init(const MasterConfig& config) {
  const std::string id = FormatClusterId(SeedFromSystem(), SeedFromSystem());
  const Status made = InitCluster(config.directory, id);
  if (!made.ok()) return Fail(made);
  std::cout << id << "\n" << std::flush;
  return std::cout ? 0 : Fail(Status(StatusCode::kIo, "cannot write the id of the new cluster to standard output"));
}

}  // namespace

int RunMaster(const std::vector<std::string>& args) {
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  bool init = false;
  const daemon::Flag flag{"--init", &init, "make a new, empty cluster in master.directory, print its id and end"};
  if (const auto exit = daemon::ParseArguments("master", "The master: name node and job tracker of a cluster.", args,
                                               options, {flag})) {
    return *exit;
  }
  if (const Status checked = CheckMasterConfig(config); !checked.ok()) return Fail(checked, 2);
  if (init) return Init(config);
  const Log log = MakeLog("master", config.log_level);
  try {
    const Status served = Serve(config, log);
    return served.ok() ? 0 : Fail(served);
  } catch (const kj::Exception& e) {
    return Fail(rpc::FromException(e));
  }
}

}  // namespace millrace::master
