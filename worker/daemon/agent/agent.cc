// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/agent.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/cluster_id.h"
#include "base/release.h"
#include "base/rpc/status_codec.h"
#include "base/tls/token.h"
#include "base/units.h"
#include "dfs/wire/blocks.h"
#include "worker/daemon/agent/attempt_table.h"
#include "worker/daemon/agent/control_server.h"

namespace millrace::worker {
namespace {

constexpr kj::Duration kSweepPeriod = 1 * kj::MINUTES;
constexpr kj::Duration kKeepToldEvery = 10 * kj::SECONDS;
// The trash gives up its oldest blocks when less than this is free (or less than a twentieth of a small disk).
constexpr std::uint64_t kTrashYieldsBelow = std::uint64_t{1} << 30;

constexpr std::size_t kMostAttemptsTold = 40'000;  // each takes 16 bytes in the message

// Returns the number of `wanted` attempts for which there is room, and takes that room.
unsigned UseRoom(std::size_t wanted, std::size_t* room) {
  const std::size_t used = std::min(wanted, *room);
  *room -= used;
  return static_cast<unsigned>(used);
}

// Returns the key of tokens that the master gives, or none.
std::string KeyOf(capnp::Data::Reader told) {
  const auto key = told.asChars();
  return key.size() == tls::TokenKey::kBytes ? std::string(key.begin(), key.size()) : std::string();
}

template <class Attempts>
void WriteAttempts(capnp::List<task::wire::Attempt>::Builder wire, const Attempts& attempts) {
  unsigned i = 0;
  for (const AttemptId& attempt : attempts) {
    if (i == wire.size()) return;
    ToWire(attempt, wire[i++]);
  }
}

}  // namespace

WorkerAgent::WorkerAgent(AgentParts parts, WorkerConfig config, WorkerIdentity identity, Random random, Log log)
    : parts_(parts),
      config_(std::move(config)),
      identity_(std::move(identity)),
      incarnation_(random.Next()),
      log_(std::move(log)),
      attempts_(
          parts_, config_, jobs_, session_, [this](const std::shared_ptr<WorkerJob>& job) { FetchExecutable(job); },
          log_),
      self_(std::make_shared<WorkerAgent*>(this)),
      peers_(
          parts.timer, parts.peers, [this] { session_.BeatSoon(); }, log_),
      session_(parts.timer, parts.dialer, config_.master, Random(random.Next()), *this, log_),
      archiver_(
          parts.timer, parts.files, parts.archiving, parts.store_file, session_,
          [this](JobId job) { return jobs_.contains(job); }, log_) {
  parts_.plane.Observe({[this](const dfs::StoredBlock& block) { session_.blocks().Received(block); },
                        [this](std::uint64_t id) { session_.blocks().Corrupt(id); },
                        [this](const std::string& host, std::uint16_t port) {
                          peers_.Doubt({host, port});
                        }});
  parts_.plane.ShowIncarnation(incarnation_);
}

WorkerAgent::~WorkerAgent() noexcept {
  parts_.plane.Observe({});
  *self_ = nullptr;
}

void WorkerAgent::Start() {
  session_.Start();
  attempts_.Start();
  tasks_.Add(SweepBlocks());
}

kj::Promise<void> WorkerAgent::Leave() {
  attempts_.LoseAll("its worker was stopped");
  // The session then ends on our word, so that nobody believes that what was launched here meanwhile ended with this
  // process.
  return session_.reports().WhenEmpty().exclusiveJoin(parts_.timer.afterDelay(kFarewell)).then([this] {
    return session_.Leave("it was stopped");
  });
}

void WorkerAgent::Foretell(std::optional<Departure> departure) {
  departure_ = std::move(departure);
  session_.Foretell();
}

void WorkerAgent::SetUpJob(task::wire::JobSetup::Reader setup, ExecutableId executable) {
  const JobId id{setup.getJob()};
  std::shared_ptr<WorkerJob>& job = jobs_[id];
  if (job != nullptr) return;
  job = std::make_shared<WorkerJob>();
  job->id = id;
  job->setup = OwnedMessage<task::wire::JobSetup>(setup);
  job->executable = std::move(executable);
  job->timeout = TimeoutOf(setup, config_.task_timeout);
  FetchExecutable(job);
}

std::set<JobId> WorkerAgent::Jobs() const {
  std::set<JobId> ids;
  for (const auto& [id, job] : jobs_) ids.insert(id);
  return ids;
}

void WorkerAgent::FetchExecutable(const std::shared_ptr<WorkerJob>& job) {
  job->executable_state = WorkerJob::ExecutableState::kFetching;
  const auto fetched = [self = self_, known = std::weak_ptr(job), id = job->executable,
                        &executables = parts_.executables](const Result<std::string>& path) {
    const auto still = known.lock();
    if (*self != nullptr && still != nullptr) return (*self)->ExecutableFetched(still, path);
    if (path.ok()) executables.Release(id);
  };
  parts_.executables.Get(job->executable, fetched);
}

void WorkerAgent::ExecutableFetched(const std::shared_ptr<WorkerJob>& job, const Result<std::string>& path) {
  if (path.ok()) {
    OwnedMessage<task::wire::SetUp> set_up;
    set_up.builder().setJob(job->setup.reader());
    set_up.builder().setMaster(session_.master());
    set_up.builder().setCluster(identity_.cluster);
    set_up.builder().setNode(node_.value);
    set_up.builder().setMemory(config_.task_memory);
    set_up.builder().setSharedDirectory(parts_.files.SharedDirectory(job->id));
    set_up.builder().setReservedBytes(config_.reserved_bytes);
    set_up.builder().setMemoryLimit(config_.task_memory_share);
    parts_.runner.SetUpJob(job->id, *path, std::move(set_up));
    job->executable_state = WorkerJob::ExecutableState::kReady;
  } else {
    job->failure = path.status();
    job->executable_state = WorkerJob::ExecutableState::kFailed;
  }
  attempts_.JobFetched(*job);
}

kj::Promise<void> WorkerAgent::CopyOutput(const AnnouncedOutput& output) {
  const AttemptId map = output.map;
  attempts_.NoteAsked(map);
  const auto job = jobs_.find(map.task.job);
  if (job == jobs_.end())
    return rpc::ToException(NotFound("copy the output of " + ToText(map) + ": its job is not known here"));
  if (job->second->held.contains(map)) return kj::READY_NOW;
  // A copy that a master asked for before may still be under way: another one would write the same file.
  auto pair = kj::newPromiseAndFulfiller<void>();
  const auto [copy, begins] = output_copies_.try_emplace(map);
  copy->second.claims = claims_;
  copy->second.asked.push_back(kj::mv(pair.fulfiller));
  if (!begins) return kj::mv(pair.promise);
  const auto prepared = std::make_shared<Status>();
  const std::uint32_t partitions = job->second->setup.reader().getReduces();
  const shuffle::Source source{map, output.host, output.port, false};
  const auto copied = [map](WorkerAgent& agent, const Status& status) { agent.OutputCopied(map, status); };
  parts_.background.Run(
      [prepared, map, &files = parts_.files] {
        *prepared = files.Prepare(map);
        files.RemoveScratch(map);
      },
      rpc::WhileAlive(self_, [=, self = self_](WorkerAgent& agent) {
        if (!prepared->ok()) return copied(agent, *prepared);
        agent.parts_.plane.CopyMapOutput(source, partitions, agent.parts_.files.Paths(map).moved_file,
                                         rpc::WhileAlive(self, copied));
      }));
  return kj::mv(pair.promise);
}

// A master that got the list of outputs after its last request did not see this output there, and no longer knows its
// request.
void WorkerAgent::OutputCopied(const AttemptId& map, const Status& status) {
  OutputCopy copy = kj::mv(output_copies_.extract(map).mapped());
  const auto job = jobs_.find(map.task.job);
  const bool wanted = job != jobs_.end() && copy.claims == claims_;
  if (status.ok() && wanted) {
    job->second->held.insert(map);
    log_->info("the output of {} was copied to here", ToText(map));
    for (auto& asked : copy.asked) asked->fulfill();
    return;
  }
  parts_.plane.RemoveMapOutput(map);
  parts_.background.Run([map, &files = parts_.files] { files.RemoveRun(map); }, [] {});
  const Status why = status.ok() ? Cancelled("its job, or the master's session, has ended") : status;
  for (auto& asked : copy.asked) asked->reject(rpc::ToException(why));
}

void WorkerAgent::ForgetJob(JobId job) {
  session_.reports().DropJob(job);
  attempts_.RemoveJob(job);
  parts_.plane.RemoveMapOutputs(job);
  if (const auto known = jobs_.find(job); known != jobs_.end()) {
    if (known->second->executable_state == WorkerJob::ExecutableState::kReady)
      parts_.executables.Release(known->second->executable);
    jobs_.erase(known);
  }
  // The files go last, since processes may write until they are gone.
  tasks_.Add(parts_.runner.ForgetJob(job).then([this, job] {
    parts_.background.Run([&files = parts_.files, job] { files.RemoveJob(job); }, [] {});
    archiver_.JobEnded();
  }));
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
  if (!IsClusterId(cluster)) return rpc::ToException(Invalid("the master does not say which cluster it serves"));
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
                        rpc::WhileAlive(self_, [stored, cluster, joined](WorkerAgent& agent) {
                          if (!stored->ok()) return (*joined)->reject(rpc::ToException(*stored));
                          agent.identity_.cluster = cluster;
                          (*joined)->fulfill();
                        }));
  return kj::mv(pair.promise);
}

void WorkerAgent::DescribeWorker(master::wire::WorkerInfo::Builder info) {
  attempts_.NoteClaims();
  ++claims_;
  info.setStorage(identity_.storage);
  info.setCluster(identity_.cluster);
  info.setHost(config_.host);
  info.setPort(identity_.port);
  info.setLocalSocket(identity_.local_socket);
  info.setSandbox(identity_.sandbox);
  info.setRack(config_.rack);
  info.setDatacenter(config_.datacenter);
  info.setMapSlots(static_cast<std::uint32_t>(config_.map_slots));
  info.setReduceSlots(static_cast<std::uint32_t>(config_.reduce_slots));
  info.setIncarnation(incarnation_);
  info.setName(config_.name);
  const Release release = ThisRelease();
  info.setVersion(release.version);
  info.setProtocol(release.protocol);
  info.setCores(identity_.cores.count);
  info.setMachine(identity_.cores.shared_as);
  if (departure_) Write(*departure_, info.initLeaving());
  if (identity_.told.life != 0) {
    info.initTold().setLife(identity_.told.life);
    info.getTold().setNumber(identity_.told.number);
  }
  const std::set<AttemptId> running = attempts_.Ids();
  std::set<AttemptId> served;
  for (const auto& [id, job] : jobs_) served.insert(job->held.begin(), job->held.end());
  const std::vector<AttemptId> done = session_.reports().Unanswered(Report::Tells::kDone);
  const std::vector<AttemptId> failed = session_.reports().Unanswered(Report::Tells::kFailed);
  for (const AttemptId& id : done) served.erase(id);
  std::size_t room = kMostAttemptsTold;
  WriteAttempts(info.initDone(UseRoom(done.size(), &room)), done);
  WriteAttempts(info.initFailed(UseRoom(failed.size(), &room)), failed);
  WriteAttempts(info.initRunning(UseRoom(running.size(), &room)), running);
  if (served.size() > room) {
    log_->warn("serving {} map outputs, {} of them reported to the master; the others will run again", served.size(),
               room);
  }
  WriteAttempts(info.initMapOutputs(UseRoom(served.size(), &room)), served);
}

void WorkerAgent::Write(const Departure& departure, master::wire::Leaving::Builder leaving) const {
  const kj::Duration left = kj::max(departure.at - parts_.timer.now(), 0 * kj::SECONDS);
  leaving.setInMillis(static_cast<std::uint64_t>(left / kj::MILLISECONDS));
  leaving.setReason(departure.reason);
}

void WorkerAgent::DescribeForetelling(master::wire::WorkerSession::ForetellParams::Builder foretelling) {
  if (departure_) Write(*departure_, foretelling.initLeaving());
}

wire::WorkerControl::Client WorkerAgent::Control() { return kj::heap<ControlServer>(self_); }

void WorkerAgent::Registered(NodeId node, master::wire::WorkerSettings::Reader settings) {
  node_ = node;
  const std::set<AttemptId> asked_since = attempts_.TakeAskedSinceClaims();
  const auto meant = [&](const AttemptId& id) { return !asked_since.contains(id); };
  for (const auto attempt : settings.getKilled()) {
    if (const AttemptId id = FromWire(attempt); meant(id)) attempts_.Kill(id, "the master does not want it any more");
  }
  for (const auto attempt : settings.getSettled()) {
    if (const AttemptId id = FromWire(attempt); meant(id)) session_.reports().Drop(id);
  }
  for (const std::uint32_t job : settings.getForgotten()) ForgetJob(JobId{job});
  parts_.plane.UseKeys({node, KeyOf(settings.getTokenKey()), KeyOf(settings.getWriteKey())});
  if (settings.getOlder()) {
    log_->error(
        "the master's database is older than what this worker was told: it was set back; for a while the master has "
        "nothing deleted for good");
  }
  if (settings.hasMoment()) NoteTold(settings.getMoment());
  archiver_.Registered(node);
  if (on_registered_) on_registered_(node);
}

void WorkerAgent::HeartbeatAnswered(master::wire::WorkerSession::HeartbeatResults::Reader answer) {
  if (answer.hasMoment()) NoteTold(answer.getMoment());
  for (const auto peer : answer.getLook()) peers_.Look({peer.getHost(), peer.getPort()});
}

// A master that is set back leaves this process as it is, so the disk may be a little older than the report.
void WorkerAgent::NoteTold(master::wire::Moment::Reader moment) {
  const Moment told{moment.getLife(), moment.getNumber()};
  if (told == identity_.told) return;
  const bool other_life = told.life != identity_.told.life;
  identity_.told = told;
  const kj::TimePoint now = parts_.timer.now();
  if (!identity_.keep_told || (!other_life && told_kept_ && now - *told_kept_ < kKeepToldEvery)) return;
  told_kept_ = now;
  parts_.background.Run(
      [told, keep = identity_.keep_told, log = log_] {
        const Status kept = keep(told);
        if (!kept.ok()) log->warn("cannot store how far the master's database has come: {}", kept.message());
      },
      [] {});
}

void WorkerAgent::DescribeHeartbeat(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat) {
  const dfs::BlockStore::Space space = parts_.blocks.space();
  auto stats = heartbeat.initStats();
  stats.setCapacity(space.capacity);
  stats.setFree(space.free);
  stats.setUsed(space.used);
  stats.setBlocks(space.blocks);
  stats.setTrashed(space.trashed);
  stats.setNoRoom(!parts_.files.HasRoom());
  if (parts_.certificate_until) stats.setCertificateUntil(parts_.certificate_until());
  if (parts_.python) stats.setPython(parts_.python());
  DescribeDisks(stats);
  DescribeUnreached(heartbeat);
  const auto progress = attempts_.TakeProgress();
  auto list = heartbeat.initProgress(static_cast<unsigned>(progress.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.setWithCaveats(i, progress[i].reader());
}

void WorkerAgent::DescribeDisks(master::wire::WorkerStats::Builder stats) const {
  if (!parts_.syncs) return;
  std::vector<dfs::SyncTimes> disks = parts_.syncs();
  std::erase_if(disks, [](const dfs::SyncTimes& disk) { return disk.syncs == 0; });
  auto list = stats.initDisks(static_cast<unsigned>(disks.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setDisk(disks[i].disk);
    list[i].setSyncs(disks[i].syncs);
    list[i].setMedianMicros(static_cast<std::uint64_t>(disks[i].median));
    list[i].setWorstMicros(static_cast<std::uint64_t>(disks[i].worst));
  }
}

void WorkerAgent::DescribeUnreached(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat) {
  const std::vector<PeerWatch::Unreached> unreached = peers_.ListUnreached();
  auto list = heartbeat.initUnreached(static_cast<unsigned>(unreached.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    auto peer = list[i].initPeer();
    peer.setHost(unreached[i].peer.host);
    peer.setPort(unreached[i].peer.port);
    list[i].setFailures(unreached[i].failures);
    list[i].setForMillis(static_cast<std::uint64_t>(unreached[i].since / kj::MILLISECONDS));
  }
}

// ---- blocks ----

void WorkerAgent::Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) {
  parts_.plane.Replicate(block, std::move(targets), std::move(token));
}

void WorkerAgent::RemoveBlocks(std::vector<std::uint64_t> ids, std::function<Status(std::uint64_t)> remove) {
  auto removed = std::make_shared<std::vector<std::uint64_t>>();
  parts_.background.Run(
      [removed, ids = std::move(ids), remove = std::move(remove), log = log_] {
        for (const std::uint64_t id : ids) {
          const Status status = remove(id);
          if (status.ok()) removed->push_back(id);
          if (!status.ok()) log->warn("cannot remove {}: {}", dfs::BlockName(id), status.message());
        }
      },
      rpc::WhileAlive(self_, [removed](WorkerAgent& agent) {
        for (const std::uint64_t id : *removed) agent.session_.blocks().Deleted(id);
      }));
}

void WorkerAgent::DeleteBlocks(std::vector<std::uint64_t> ids) {
  RemoveBlocks(std::move(ids), [&blocks = parts_.blocks](std::uint64_t id) { return blocks.Remove(id); });
}

void WorkerAgent::TrashBlocks(std::vector<std::uint64_t> ids) {
  log_->warn("{} blocks go to the trash, as the master asks, for {}", ids.size(),
             FormatDuration(config_.trash_retention));
  RemoveBlocks(std::move(ids),
               [&blocks = parts_.blocks, now = parts_.clock.Now()](std::uint64_t id) { return blocks.Trash(id, now); });
}

kj::Promise<void> WorkerAgent::RemovalsMade() {
  auto pair = kj::newPromiseAndFulfiller<void>();
  const auto made = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>(kj::mv(pair.fulfiller));
  parts_.background.Run([] {}, [made] { (*made)->fulfill(); });  // works are done in order
  return kj::mv(pair.promise);
}

kj::Promise<std::vector<dfs::StoredBlock>> WorkerAgent::Restore(std::vector<std::uint64_t> ids) {
  using Blocks = std::vector<dfs::StoredBlock>;
  auto pair = kj::newPromiseAndFulfiller<Blocks>();
  const auto answer = std::make_shared<kj::Own<kj::PromiseFulfiller<Blocks>>>(kj::mv(pair.fulfiller));
  const auto restored = std::make_shared<Blocks>();
  parts_.background.Run(
      [restored, ids = std::move(ids), &blocks = parts_.blocks, log = log_] {
        for (const std::uint64_t id : ids) {
          const Result<dfs::StoredBlock> block = blocks.Restore(id);
          if (block.ok()) restored->push_back(*block);
          if (block.ok()) continue;
          // An earlier session asked for the block too, and its list was made before the block was back.
          const Result<dfs::OpenBlock> here = blocks.Open(id);
          if (block.status().code() == StatusCode::kExists && here.ok() && blocks.Length(id).has_value()) {
            restored->push_back({id, here->length, here->content().crc});
          } else {
            log->warn("cannot bring a block back: {}", block.status().message());
          }
        }
        log->info("{} blocks came back from the trash: the master wants them", restored->size());
      },
      [restored, answer] { (*answer)->fulfill(std::move(*restored)); });
  return kj::mv(pair.promise);
}

kj::Promise<void> WorkerAgent::SweepBlocks() {
  const dfs::BlockStore::Space space = parts_.blocks.space();
  const std::uint64_t least_free = std::min(kTrashYieldsBelow, space.capacity / 20);
  // Nothing in the trash expires while there is no master that could ask for it, however long the worker was down.
  const bool offered = session_.blocks().trash_offered();
  const Micros before = offered ? parts_.clock.Now() - config_.trash_retention + 1 : std::numeric_limits<Micros>::min();
  parts_.background.Run(
      [&blocks = parts_.blocks, before, least_free, log = log_] {
        const dfs::BlockStore::Swept swept = blocks.SweepTrash(before, least_free);
        if (swept.blocks == 0) return;
        log->info("{} blocks of {} left the trash for good", swept.blocks, FormatBytes(swept.bytes));
      },
      [] {});
  const Micros now = (parts_.timer.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS;
  parts_.background.Run(
      [&blocks = parts_.blocks, now, retention = config_.unfinished_retention, log = log_] {
        const dfs::BlockStore::Swept swept = blocks.SweepUnfinished(now, retention);
        if (swept.blocks == 0) return;
        log->info("{} unfinished blocks of {}, which nobody continued to write, are discarded", swept.blocks,
                  FormatBytes(swept.bytes));
      },
      [] {});
  const kj::Duration period = kj::min(kSweepPeriod, config_.unfinished_retention * kj::MICROSECONDS);
  return parts_.timer.afterDelay(period).then([this] { return SweepBlocks(); });
}

kj::Promise<dfs::wire::ReplicaState> WorkerAgent::VerifyBlock(std::uint64_t id) {
  auto answer = kj::newPromiseAndFulfiller<dfs::wire::ReplicaState>();
  auto& waiting = checking_[id];
  waiting.push_back(kj::mv(answer.fulfiller));
  if (waiting.size() > 1) return kj::mv(answer.promise);
  const auto checked = std::make_shared<CheckedBlock>();
  parts_.checks.Run([checked, id, &blocks = parts_.blocks] { *checked = CheckBlock(blocks, id); },
                    rpc::WhileAlive(self_, [checked, id](WorkerAgent& agent) {
                      agent.Found(*checked);
                      auto asked = agent.checking_.extract(id);
                      for (auto& who : asked.mapped()) who->fulfill(kj::cp(checked->state));
                    }));
  return kj::mv(answer.promise);
}

void WorkerAgent::Found(const CheckedBlock& checked) {
  const std::uint64_t id = checked.block.id;
  switch (checked.state) {
    case dfs::wire::ReplicaState::SOUND:
      // The block is reported only while it is listed: a removal in the meantime is reported afterwards.
      if (parts_.blocks.Length(id) == checked.block.length) session_.blocks().Received(checked.block);
      return;
    case dfs::wire::ReplicaState::ABSENT:
      log_->warn("{} is no longer here: {}", dfs::BlockName(id), checked.why.message());
      return session_.blocks().Deleted(id);
    default:
      log_->error("{}", checked.why.message());
      return session_.blocks().Corrupt(id);
  }
}

void WorkerAgent::LostBlocks(const std::vector<std::uint64_t>& ids) {
  for (const std::uint64_t id : ids) session_.blocks().Deleted(id);
}

std::vector<dfs::StoredBlock> WorkerAgent::Blocks() {
  std::vector<dfs::StoredBlock> blocks = parts_.blocks.List();
  for (const std::uint64_t id : parts_.blocks.Damaged()) {
    log_->error("{} is damaged: its checksums do not fit its length", dfs::BlockName(id));
    blocks.push_back({id, dfs::kDamagedLength});
  }
  return blocks;
}

}  // namespace millrace::worker
