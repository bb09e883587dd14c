#include "worker/daemon/agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cluster_id.h"
#include "base/rpc/status_codec.h"
#include "dfs/wire/block_name.h"
#include "worker/daemon/agent/attempt_watch.h"
#include "worker/daemon/agent/control_server.h"

namespace millrace::worker {
namespace {

// A control message is at most 1 MiB (base/rpc/transport.h).
constexpr std::size_t kMostProgressBytes = std::size_t{512} << 10;
constexpr std::size_t kMostOneProgressBytes = std::size_t{64} << 10;
constexpr std::size_t kMostAttemptsTold = 40'000;  // of 16 bytes each

// Takes as many as there is room for.
template <class Attempts>
unsigned Take(const Attempts& attempts, std::size_t* room) {
  const std::size_t taken = std::min(attempts.size(), *room);
  *room -= taken;
  return static_cast<unsigned>(taken);
}

template <class Attempts>
void Fill(capnp::List<task::wire::Attempt>::Builder wire, const Attempts& attempts) {
  unsigned i = 0;
  for (const AttemptId& attempt : attempts) {
    if (i == wire.size()) return;
    ToWire(attempt, wire[i++]);
  }
}

// What the heartbeat has room for: of an overlong one, without counters and with the beginning of the status.
OwnMessage<task::wire::Progress> Shortened(OwnMessage<task::wire::Progress> progress) {
  if (progress.bytes() <= kMostOneProgressBytes) return progress;
  OwnMessage<task::wire::Progress> brief;
  const auto full = progress.reader();
  brief.builder().setAttempt(full.getAttempt());
  brief.builder().setFraction(full.getFraction());
  const std::string status(full.getStatus().begin(), std::min<std::size_t>(full.getStatus().size(), 256));
  brief.builder().setStatus(status);
  return brief;
}

}  // namespace

WorkerAgent::WorkerAgent(AgentParts parts, WorkerConfig config, WorkerIdentity identity, Random random, Log log)
    : parts_(parts),
      config_(std::move(config)),
      identity_(std::move(identity)),
      incarnation_(random.Next()),
      log_(std::move(log)),
      gate_(static_cast<std::size_t>(config_.reduce_slots)),
      self_(std::make_shared<WorkerAgent*>(this)),
      session_(parts.timer, parts.dialer, config_.master, Random(random.Next()), *this, log_) {
  parts_.runner.Observe(this);
  parts_.plane.Observe({[this](const dfs::StoredBlock& block) { session_.blocks().Received(block); },
                        [this](std::uint64_t id) { session_.blocks().Corrupt(id); }});
}

WorkerAgent::~WorkerAgent() noexcept {
  parts_.runner.Observe(nullptr);
  parts_.plane.Observe({});
  *self_ = nullptr;
}

void WorkerAgent::Start() {
  session_.Start();
  tasks_.Add(Watch());
  tasks_.Add(SweepBlocks());
}

void WorkerAgent::SetUpJob(task::wire::JobSetup::Reader setup, ExecutableId executable) {
  std::shared_ptr<Job>& job = jobs_[setup.getJob()];
  if (job != nullptr) return;
  job = std::make_shared<Job>();
  job->number = setup.getJob();
  job->setup = OwnMessage<task::wire::JobSetup>(setup);
  job->executable = std::move(executable);
  job->timeout = TimeoutOf(setup, config_.task_timeout);
  FetchExecutable(job);
}

void WorkerAgent::FetchExecutable(const std::shared_ptr<Job>& job) {
  job->state = Job::State::kFetching;
  const auto fetched = [self = self_, known = std::weak_ptr(job), id = job->executable,
                        &executables = parts_.executables](const Result<std::string>& path) {
    const auto still = known.lock();
    if (*self != nullptr && still != nullptr) return (*self)->ExecutableFetched(still, path);
    if (path.ok()) executables.Release(id);
  };
  parts_.executables.Get(job->executable, fetched);
}

void WorkerAgent::ExecutableFetched(const std::shared_ptr<Job>& job, const Result<std::string>& path) {
  if (path.ok()) {
    OwnMessage<task::wire::SetUp> set_up;
    set_up.builder().setJob(job->setup.reader());
    set_up.builder().setMaster(session_.master());
    set_up.builder().setCluster(identity_.cluster);
    set_up.builder().setNode(node_);
    set_up.builder().setMemory(config_.task_memory);
    parts_.runner.SetUpJob(job->number, *path, std::move(set_up));
    job->state = Job::State::kReady;
  } else {
    job->failure = path.status();
    job->state = Job::State::kFailed;
  }
  std::vector<AttemptPtr> waiting;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->job == job) waiting.push_back(attempt);
  }
  for (const AttemptPtr& attempt : waiting) Proceed(*attempt);
}

void WorkerAgent::ForgetJob(std::uint32_t job) {
  session_.reports().DropJob(job);
  std::vector<AttemptPtr> ended;
  for (const auto& [id, attempt] : attempts_) {
    if (id.task.job.value == job) ended.push_back(attempt);
  }
  for (const AttemptPtr& attempt : ended) Remove(*attempt);
  parts_.plane.RemoveMapOutputs(job);
  if (const auto known = jobs_.find(job); known != jobs_.end()) {
    if (known->second->state == Job::State::kReady) parts_.executables.Release(known->second->executable);
    jobs_.erase(known);
  }
  // Processes may write until they are gone.
  tasks_.Add(parts_.runner.ForgetJob(job).then(
      [this, job] { parts_.background.Run([&files = parts_.files, job] { files.RemoveJob(job); }, [] {}); }));
}

kj::Promise<LogPiece> WorkerAgent::ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                           std::uint32_t limit) {
  auto pair = kj::newPromiseAndFulfiller<LogPiece>();
  const auto answer = std::make_shared<kj::Own<kj::PromiseFulfiller<LogPiece>>>(kj::mv(pair.fulfiller));
  const auto read = std::make_shared<Result<LogPiece>>(LogPiece());
  parts_.background.Run([=, &files = parts_.files] { *read = files.ReadLog(attempt, standard_error, offset, limit); },
                        [=] {
                          if (read->ok()) return (*answer)->fulfill(std::move(**read));
                          (*answer)->reject(rpc::ToException(read->status()));
                        });
  return kj::mv(pair.promise);
}

kj::Promise<void> WorkerAgent::Join(std::string cluster) {
  if (!IsClusterId(cluster)) return rpc::ToException(Invalid("the master does not say of which cluster it is"));
  if (identity_.cluster == cluster) return kj::READY_NOW;
  if (!identity_.cluster.empty()) {
    return rpc::ToException(Invalid("this worker belongs to cluster " + identity_.cluster +
                                    " and the master is that of cluster " + cluster +
                                    "; nothing here is touched: correct worker.master, or the master's directory"));
  }
  auto pair = kj::newPromiseAndFulfiller<void>();
  const auto joined = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>(kj::mv(pair.fulfiller));
  const auto stored = std::make_shared<Status>();
  parts_.background.Run([stored, cluster, join = identity_.join] { *stored = join(cluster); },
                        WhileAlive(self_, [stored, cluster, joined](WorkerAgent& agent) {
                          if (!stored->ok()) return (*joined)->reject(rpc::ToException(*stored));
                          agent.identity_.cluster = cluster;
                          (*joined)->fulfill();
                        }));
  return kj::mv(pair.promise);
}

void WorkerAgent::DescribeWorker(master::wire::WorkerInfo::Builder info) {
  launched_since_claim_.emplace();
  info.setStorage(identity_.storage);
  info.setCluster(identity_.cluster);
  info.setHost(config_.host);
  info.setPort(identity_.port);
  info.setLocalSocket(identity_.local_socket);
  info.setRack(config_.rack);
  info.setDatacenter(config_.datacenter);
  info.setMapSlots(static_cast<std::uint32_t>(config_.map_slots));
  info.setReduceSlots(static_cast<std::uint32_t>(config_.reduce_slots));
  info.setIncarnation(incarnation_);
  std::set<AttemptId> running, served;
  for (const auto& [number, job] : jobs_) served.insert(job->held.begin(), job->held.end());
  for (const auto& [id, attempt] : attempts_) running.insert(id);
  const std::vector<AttemptId> done = session_.reports().Unanswered(Report::Tells::kDone);
  const std::vector<AttemptId> failed = session_.reports().Unanswered(Report::Tells::kFailed);
  for (const AttemptId& id : done) served.erase(id);
  std::size_t room = kMostAttemptsTold;
  Fill(info.initDone(Take(done, &room)), done);
  Fill(info.initFailed(Take(failed, &room)), failed);
  Fill(info.initRunning(Take(running, &room)), running);
  if (served.size() > room) {
    log_->warn("{} map outputs are served here, {} are told: the rest will run again", served.size(), room);
  }
  Fill(info.initMapOutputs(Take(served, &room)), served);
}

wire::WorkerControl::Client WorkerAgent::Control() { return kj::heap<ControlServer>(self_); }

void WorkerAgent::Registered(std::uint32_t node, master::wire::WorkerSettings::Reader settings) {
  node_ = node;
  const auto launched_since = std::exchange(launched_since_claim_, std::nullopt).value_or(std::set<AttemptId>());
  const auto meant = [&](const AttemptId& id) { return !launched_since.contains(id); };
  for (const auto attempt : settings.getKilled()) {
    if (const AttemptId id = FromWire(attempt); meant(id)) Kill(id, "the master does not want it any more");
  }
  for (const auto attempt : settings.getSettled()) {
    if (const AttemptId id = FromWire(attempt); meant(id)) session_.reports().Drop(id);
  }
  for (const std::uint32_t job : settings.getForgotten()) ForgetJob(job);
  if (on_registered_) on_registered_(node);
}

void WorkerAgent::DescribeHeartbeat(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat) {
  const dfs::BlockStore::Space space = parts_.blocks.space();
  auto stats = heartbeat.initStats();
  stats.setCapacity(space.capacity);
  stats.setFree(space.free);
  stats.setUsed(space.used);
  stats.setBlocks(space.blocks);
  stats.setTrashed(space.trashed);
  const auto progress = TakeProgress();
  auto list = heartbeat.initProgress(static_cast<unsigned>(progress.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.setWithCaveats(i, progress[i].reader());
}

std::vector<OwnMessage<task::wire::Progress>> WorkerAgent::TakeProgress() {
  std::vector<OwnMessage<task::wire::Progress>> taken;
  std::size_t bytes = 0;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->copier != nullptr && !attempt->computing) {
      OwnMessage<task::wire::Progress> copying;
      ToWire(id, copying.builder().initAttempt());
      const std::uint32_t copied = attempt->copier->copied();
      const auto left_out = static_cast<std::uint32_t>(attempt->job->left_out.size());
      const std::uint32_t wanted = std::max(copied, attempt->maps - std::min(attempt->maps, left_out));
      const float share = wanted == 0 ? 1.0F : static_cast<float>(copied) / static_cast<float>(wanted);
      copying.builder().setFraction(kCopyShare * share);
      copying.builder().setStatus(fmt::format("copied {} of {} map outputs", copied, wanted));
      attempt->progress = std::move(copying);
    }
    if (!attempt->progress) continue;
    attempt->progress = Shortened(std::move(*attempt->progress));
    bytes += attempt->progress->bytes();
    if (bytes > kMostProgressBytes) break;  // the next heartbeat brings the rest
    taken.push_back(std::move(*attempt->progress));
    attempt->progress.reset();
  }
  return taken;
}

}  // namespace millrace::worker
