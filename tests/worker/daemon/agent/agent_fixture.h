// SPDX-License-Identifier: Apache-2.0
// The fixture of tests of a WorkerAgent. The agent talks, over a pipe and under driven time, to a master that records
// all calls.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <gtest/gtest.h>
#include <kj/debug.h>
#include <kj/timer.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/release.h"
#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "tests/fakes/inline_background.h"
#include "tests/fakes/memory_block_store.h"
#include "tests/fakes/pipe_network.h"
#include "tests/fakes/synthetic_worker.h"
#include "worker/daemon/agent/agent.h"
#include "worker/task/run/compress_choice.h"

namespace millrace::worker {

// The calls that the master has received, in order, and the answers that it gives.
struct MasterRecord {
  static constexpr const char* kCluster = "0123456789abcdef0123456789abcdef";
  struct Registration {
    std::string storage, host, cluster;
    std::uint32_t map_slots = 0, reduce_slots = 0;
    std::uint64_t incarnation = 0;
    std::vector<AttemptId> running, map_outputs, done, failed;
    std::string leaving = {};  // "in 90000 ms: spot notice"
  };
  struct Heartbeat {
    std::uint64_t capacity = 0, used = 0, blocks = 0;
    std::vector<std::pair<AttemptId, float>> progress;
    std::vector<std::string> unreached, disks;
    std::string python = {};
  };
  struct Part {
    std::size_t blocks;
    bool first, last;
    std::vector<std::uint64_t> damaged;  // blocks with a length that no block can have
  };

  std::vector<Registration> registrations;
  std::vector<Heartbeat> heartbeats;
  std::function<void()> on_part;  // called with each part of a block report
  std::vector<Part> parts;
  std::vector<task::RecordPlace> records;  // the records at which attempts failed
  std::vector<std::string> log;            // "done job3.m.1.0", "received 7", ...
  kj::Maybe<wire::WorkerControl::Client> control;

  std::string cluster = kCluster;
  std::uint32_t protocol = kProtocolLevel;  // the master's protocol level
  bool answer_done = true;                  // false: attemptDone is never answered
  bool answer_heartbeats = true;
  std::vector<std::pair<std::string, std::uint16_t>> look;  // the peers that the answer to each heartbeat names
  bool answer_corrupt = true;
  Status refuse_done;  // the answer to attemptDone, if it is a failure
  bool answer_failed = true;
  std::vector<AttemptId> killed, settled;
  std::vector<JobId> forgotten;
  kj::Maybe<kj::Promise<void>> hold_registration;  // the next registration is answered when this resolves
  std::vector<std::uint64_t> wanted;               // blocks of the trash that the master wants back
  bool knows_archive = true;                       // false: it is of a release that keeps no archive of logs
  std::map<JobId, master::wire::LogFate> fates;    // of the logs of jobs; of others: leave

  [[nodiscard]] std::ptrdiff_t Count(const std::string& line) const { return std::count(log.begin(), log.end(), line); }
};

// HoldingBackground does work in later turns of the loop. While it is held, it does nothing.
class HoldingBackground final : public rpc::Background {
 public:
  ~HoldingBackground() noexcept override = default;
  void Run(std::function<void()> work, std::function<void()> then) override {
    if (!held_) return inline_.Run(std::move(work), std::move(then));
    waiting_.emplace_back(std::move(work), std::move(then));
  }
  void Hold() { held_ = true; }
  void Release() {
    held_ = false;
    for (auto& [work, then] : std::exchange(waiting_, {})) inline_.Run(std::move(work), std::move(then));
  }

 private:
  rpc::InlineBackground inline_;
  bool held_ = false;
  std::vector<std::pair<std::function<void()>, std::function<void()>>> waiting_;
};

inline std::string InWords(master::wire::Leaving::Reader leaving) {
  return "in " + std::to_string(leaving.getInMillis()) + " ms: " + leaving.getReason().cStr();
}

class FakeSession final : public master::wire::WorkerSession::Server {
 public:
  explicit FakeSession(MasterRecord& record) : record_(record) {}

 protected:
  kj::Promise<void> heartbeat(HeartbeatContext context) override {
    const auto params = context.getParams();
    MasterRecord::Heartbeat beat;
    beat.capacity = params.getStats().getCapacity();
    beat.used = params.getStats().getUsed();
    beat.blocks = params.getStats().getBlocks();
    beat.python = params.getStats().getPython();
    for (const auto progress : params.getProgress()) {
      beat.progress.push_back({FromWire(progress.getAttempt()), progress.getFraction()});
    }
    for (const auto peer : params.getUnreached()) {
      const std::uint32_t failures = peer.getFailures();
      beat.unreached.push_back(std::string(peer.getPeer().getHost()) + ":" + std::to_string(peer.getPeer().getPort()) +
                               " " + (failures == 1 ? "once" : std::to_string(failures) + " times"));
    }
    for (const auto disk : params.getStats().getDisks()) {
      beat.disks.push_back(std::string(disk.getDisk()) + ": " + std::to_string(disk.getSyncs()) + " syncs, " +
                           std::to_string(disk.getMedianMicros()) + " us, " + std::to_string(disk.getWorstMicros()) +
                           " us");
    }
    auto look = context.getResults().initLook(static_cast<unsigned>(record_.look.size()));
    for (unsigned i = 0; i < look.size(); ++i) {
      look[i].setHost(record_.look[i].first);
      look[i].setPort(record_.look[i].second);
    }
    record_.heartbeats.push_back(std::move(beat));
    if (params.getStats().getNoRoom()) (void)Heard("no room");
    return record_.answer_heartbeats ? kj::Promise<void>(kj::READY_NOW) : kj::NEVER_DONE;
  }
  kj::Promise<void> reportBlocks(ReportBlocksContext context) override {
    const auto params = context.getParams();
    record_.parts.push_back({params.getBlocks().size(), params.getFirst(), params.getLast(), {}});
    for (const auto block : params.getBlocks()) {
      if (block.getLength() == ~std::uint64_t{0}) record_.parts.back().damaged.push_back(block.getId());
    }
    if (record_.on_part) record_.on_part();
    return kj::READY_NOW;
  }
  kj::Promise<void> offerTrash(OfferTrashContext context) override {
    std::string line = "offered";
    for (const auto block : context.getParams().getBlocks()) line += " " + std::to_string(block.getId());
    auto wanted = context.getResults().initWanted(static_cast<unsigned>(record_.wanted.size()));
    for (unsigned i = 0; i < wanted.size(); ++i) wanted.set(i, record_.wanted[i]);
    return Heard(line);
  }
  kj::Promise<void> endReport(EndReportContext) override { return Heard("end of report"); }
  kj::Promise<void> blocksReceived(BlocksReceivedContext context) override {
    std::string line = "received";
    for (const auto block : context.getParams().getBlocks()) line += " " + std::to_string(block.getId());
    return Heard(line);
  }
  kj::Promise<void> blocksDeleted(BlocksDeletedContext context) override {
    std::string line = "deleted";
    for (const auto id : context.getParams().getBlocks()) line += " " + std::to_string(id);
    return Heard(line);
  }
  kj::Promise<void> blockCorrupt(BlockCorruptContext context) override {
    (void)Heard("corrupt " + std::to_string(context.getParams().getBlock()));
    return record_.answer_corrupt ? kj::Promise<void>(kj::READY_NOW) : kj::NEVER_DONE;
  }
  kj::Promise<void> foretell(ForetellContext context) override {
    const auto params = context.getParams();
    return Heard("foretells: " + (params.hasLeaving() ? InWords(params.getLeaving()) : std::string("stays")));
  }
  kj::Promise<void> archiveLogs(ArchiveLogsContext context) override {
    if (!record_.knows_archive) return master::wire::WorkerSession::Server::archiveLogs(context);
    const auto jobs = context.getParams().getJobs();
    auto orders = context.getResults().initOrders(jobs.size());
    for (unsigned i = 0; i < jobs.size(); ++i) {
      const auto known = record_.fates.find(JobId{jobs[i]});
      orders[i].setJob(jobs[i]);
      orders[i].setFate(known == record_.fates.end() ? master::wire::LogFate::LEAVE : known->second);
      orders[i].setBytes(1000);
      record_.log.push_back("asks about the logs of job" + std::to_string(jobs[i]));
    }
    return kj::READY_NOW;
  }
  kj::Promise<void> leave(LeaveContext context) override {
    return Heard(std::string("leaves: ") + context.getParams().getReason().cStr());
  }
  kj::Promise<void> attemptDone(AttemptDoneContext context) override {
    const auto params = context.getParams();
    (void)Heard("done " + ToText(FromWire(params.getDone().getAttempt())) + " read " +
                std::to_string(params.getBytesRead()) + " shuffled " + std::to_string(params.getBytesShuffled()));
    if (!record_.refuse_done.ok()) return rpc::ToException(record_.refuse_done);
    return record_.answer_done ? kj::Promise<void>(kj::READY_NOW) : kj::NEVER_DONE;
  }
  kj::Promise<void> attemptFailed(AttemptFailedContext context) override {
    const auto params = context.getParams();
    (void)Heard(std::string(params.getLost() ? "lost " : "failed ") + ToText(FromWire(params.getAttempt())) + ": " +
                params.getError().cStr());
    if (params.hasRecord()) {
      const auto record = params.getRecord();
      record_.records.push_back({record.getInput(), record.getOffset(), record.getNth()});
    }
    return record_.answer_failed ? kj::Promise<void>(kj::READY_NOW) : kj::NEVER_DONE;
  }
  kj::Promise<void> fetchFailed(FetchFailedContext context) override {
    const auto params = context.getParams();
    return Heard("fetch failed " + ToText(FromWire(params.getReduce())) + " from " + ToText(FromWire(params.getMap())) +
                 ": " + params.getReason().cStr());
  }
  kj::Promise<void> reducePhase(ReducePhaseContext context) override {
    const auto params = context.getParams();
    return Heard((params.getComputing() ? "computes " : "copied ") + ToText(FromWire(params.getAttempt())));
  }

 private:
  kj::Promise<void> Heard(std::string line) {
    record_.log.push_back(std::move(line));
    return kj::READY_NOW;
  }
  MasterRecord& record_;
};

class FakeMaster final : public master::wire::Master::Server {
 public:
  explicit FakeMaster(MasterRecord& record) : record_(record) {}

 protected:
  kj::Promise<void> version(VersionContext context) override {
    context.getResults().setCluster(record_.cluster);
    context.getResults().setProtocol(record_.protocol);
    return kj::READY_NOW;
  }
  kj::Promise<void> register_(RegisterContext context) override {
    const auto worker = context.getParams().getWorker();
    MasterRecord::Registration registration{worker.getStorage(),
                                            worker.getHost(),
                                            worker.getCluster(),
                                            worker.getMapSlots(),
                                            worker.getReduceSlots(),
                                            worker.getIncarnation(),
                                            {},
                                            {},
                                            {},
                                            {}};
    if (worker.hasLeaving()) registration.leaving = InWords(worker.getLeaving());
    for (const auto attempt : worker.getRunning()) registration.running.push_back(FromWire(attempt));
    for (const auto attempt : worker.getMapOutputs()) registration.map_outputs.push_back(FromWire(attempt));
    for (const auto attempt : worker.getDone()) registration.done.push_back(FromWire(attempt));
    for (const auto attempt : worker.getFailed()) registration.failed.push_back(FromWire(attempt));
    record_.registrations.push_back(std::move(registration));
    record_.control = context.getParams().getControl();
    auto results = context.getResults();
    results.setNode(kNode);
    results.setSession(kj::heap<FakeSession>(record_));
    auto settings = results.initSettings();
    settings.setHeartbeatMillis(1000);
    settings.setLostAfterMillis(10'000);
    auto killed = settings.initKilled(static_cast<unsigned>(record_.killed.size()));
    for (unsigned i = 0; i < killed.size(); ++i) ToWire(record_.killed[i], killed[i]);
    auto settled = settings.initSettled(static_cast<unsigned>(record_.settled.size()));
    for (unsigned i = 0; i < settled.size(); ++i) ToWire(record_.settled[i], settled[i]);
    auto forgotten = settings.initForgotten(static_cast<unsigned>(record_.forgotten.size()));
    for (unsigned i = 0; i < forgotten.size(); ++i) forgotten.set(i, record_.forgotten[i].value);
    KJ_IF_MAYBE (held, record_.hold_registration) {
      kj::Promise<void> until = kj::mv(*held);
      record_.hold_registration = nullptr;
      return until;
    }
    return kj::READY_NOW;
  }

 public:
  static constexpr std::uint32_t kNode = 5;

 private:
  MasterRecord& record_;
};

// ManualRunner executes nothing; tests make attempts progress and end.
struct ManualRunner final : TaskRunner {
  void Observe(TaskObserver* who) override { observer = who; }
  void SetUpJob(JobId job, std::string executable, OwnedMessage<task::wire::SetUp> set_up) override {
    set_ups.push_back(ToText(job) + " " + executable + " node " + std::to_string(set_up.reader().getNode()));
  }
  void RunMap(OwnedMessage<task::wire::RunMap> launch) override {
    running.push_back(FromWire(launch.reader().getAttempt()));
    run_files.push_back(launch.reader().getRunFile());
    record_notes.push_back(launch.reader().getRecordNote());
    for (const auto place : launch.reader().getLeftOut())
      left_out.push_back({place.getInput(), place.getOffset(), place.getNth()});
    const auto link = launch.reader().getLink();
    links.push_back({link.getBytesPerSecond(), link.getCrossing(), link.getWaited(), link.getMaps()});
  }
  void RunReduce(OwnedMessage<task::wire::RunReduce> launch) override {
    running.push_back(FromWire(launch.reader().getAttempt()));
    segments = launch.reader().getSegments().size();
  }
  kj::Promise<void> Kill(const AttemptId& attempt) override {
    killed.push_back(attempt);
    return kj::READY_NOW;
  }
  kj::Promise<void> EndJob(JobId job) override {
    ended.push_back(job);
    return kj::READY_NOW;
  }
  kj::Promise<void> ForgetJob(JobId job) override {
    forgotten.push_back(job);
    return kj::READY_NOW;
  }
  void Finish(const AttemptId& attempt) {
    OwnedMessage<task::wire::Done> done;
    ToWire(attempt, done.builder().initAttempt());
    auto counters = done.builder().initCounters(3);
    Set(counters[0], "millrace", "bytes_read_local", 1000);
    Set(counters[1], "millrace", "bytes_read_remote", 234);
    Set(counters[2], "user", "bytes_read_local", 5);
    observer->TaskDone(attempt, std::move(done));
  }
  static void Set(task::wire::Counter::Builder counter, const char* group, const char* name, std::int64_t value) {
    counter.setGroup(group);
    counter.setName(name);
    counter.setValue(value);
  }
  void Progress(const AttemptId& attempt, float fraction, const std::string& status = "") {
    OwnedMessage<task::wire::Progress> progress;
    ToWire(attempt, progress.builder().initAttempt());
    progress.builder().setFraction(fraction);
    progress.builder().setStatus(status);
    observer->TaskProgress(attempt, std::move(progress));
  }

  TaskObserver* observer = nullptr;
  std::vector<std::string> set_ups, run_files, record_notes;
  std::vector<task::RecordPlace> left_out;
  std::vector<run::ShuffleLink> links;
  std::vector<AttemptId> running, killed;
  std::vector<JobId> forgotten, ended;
  std::size_t segments = 0;
};

class AgentTest : public testing::Test {
 protected:
  static constexpr JobId kJob{3};

  AgentTest() {
    config_.master = "master:1";
    config_.host = "worker-a";
    config_.map_slots = 2;
    config_.reduce_slots = 1;
    config_.reserved_bytes = 0;
    network_.Serve("master:1", server_);
  }
  ~AgentTest() noexcept override = default;

  void StartAgent() {
    files_ = std::move(*DiskAttemptFiles::Open(directory_.path(), reserved_, std::nullopt, MakeSilentLog(), free_));
    if (put_before_files_) files_ = put_before_files_(std::move(files_));
    agent_ = kj::heap<WorkerAgent>(AgentParts{timer_,
                                              network_,
                                              runner_,
                                              *blocks_,
                                              plane_,
                                              *files_,
                                              executables_,
                                              background_,
                                              background_,
                                              clock_,
                                              peers_,
                                              syncs_,
                                              {},
                                              [] { return std::string("/usr/bin/python3.11"); },
                                              &background_,
                                              store_file_},
                                   config_,
                                   WorkerIdentity{"0b", 4711, "socket", cluster_,
                                                  [this](const std::string& cluster) {
                                                    joined_.push_back(cluster);
                                                    return join_failure_;
                                                  }},
                                   Random(1), log_);
    agent_->Start();
    RunReady();
  }
  void AddBlock(std::uint64_t id) {
    auto block = blocks_->Create(id);
    ASSERT_TRUE(block.ok() && (*block)->Finish().ok());
  }
  kj::Promise<void> CopyOutput(const AttemptId& map) {
    auto request = Control().copyOutputRequest();
    ToWire(map, request.initOutput().initAttempt());
    request.getOutput().setHost("other");
    request.getOutput().setPort(1);
    return request.send().ignoreResult();
  }
  void RunReady() { scope_.poll(); }
  void Advance(kj::Duration by) {
    const kj::TimePoint end = timer_.now() + by;
    while (timer_.now() < end) {
      const kj::TimePoint next = std::min(timer_.now() + 50 * kj::MILLISECONDS, end);
      clock_.Set(clock_.Now() + (next - timer_.now()) / kj::MICROSECONDS);
      timer_.advanceTo(next);
      RunReady();
    }
  }
  wire::WorkerControl::Client Control() {
    KJ_IF_MAYBE (control, record_.control) {
      return *control;
    }
    ADD_FAILURE() << "the worker has not registered";
    return nullptr;
  }
  void SetUpJob(std::uint32_t reduces = 2, JobId job = kJob) {
    auto request = Control().setUpJobRequest();
    request.initSetup().setJob(job.value);
    request.getSetup().setReduces(reduces);
    const std::string path = "/system/wordcount";
    request.setExecutable({reinterpret_cast<const kj::byte*>(path.data()), path.size()});
    Send(std::move(request));
  }
  AttemptId LaunchMap(std::uint32_t task, double crossing = 0, const std::vector<task::RecordPlace>& left_out = {},
                      JobId job = kJob) {
    const AttemptId id = MapAttemptId(job, task, 0);
    auto request = Control().launchMapRequest();
    ToWire(id, request.initAttempt());
    request.initInputs(1);
    request.setCrossing(crossing);
    auto places = request.initLeftOut(static_cast<unsigned>(left_out.size()));
    for (unsigned i = 0; i < places.size(); ++i) {
      places[i].setInput(left_out[i].input);
      places[i].setOffset(left_out[i].offset);
      places[i].setNth(left_out[i].nth);
    }
    Send(std::move(request));
    return id;
  }
  AttemptId LaunchReduce(std::uint32_t task, std::uint32_t maps, std::uint32_t computing = 0, bool asks = false) {
    const AttemptId id = ReduceAttemptId(kJob, task, 0);
    auto request = Control().launchReduceRequest();
    ToWire(id, request.initAttempt());
    request.setMaps(maps);
    request.setComputing(computing);
    request.setAsksToCompute(asks);
    Send(std::move(request));
    return id;
  }
  void Grant(const AttemptId& reduce, std::uint32_t computing = 0) {
    auto request = Control().computeRequest();
    ToWire(reduce, request.initAttempt());
    request.setComputing(computing);
    Send(std::move(request));
  }
  void Announce(std::vector<std::uint32_t> maps) {
    auto request = Control().mapOutputsRequest();
    request.setJob(kJob.value);
    auto ready = request.initReady(static_cast<unsigned>(maps.size()));
    for (unsigned i = 0; i < ready.size(); ++i) {
      ToWire(MapAttemptId(kJob, maps[i], 0), ready[i].initAttempt());
      ready[i].setHost("other");
      ready[i].setPort(1);
    }
    Send(std::move(request));
  }
  void LeaveOut(std::vector<std::uint32_t> maps) {
    auto request = Control().mapOutputsRequest();
    request.setJob(kJob.value);
    auto left_out = request.initLeftOut(static_cast<unsigned>(maps.size()));
    for (unsigned i = 0; i < left_out.size(); ++i) left_out.set(i, maps[i]);
    Send(std::move(request));
  }
  void Kill(const AttemptId& id) {
    auto request = Control().killRequest();
    ToWire(id, request.initAttempt());
    request.setReason("a test wants it");
    Send(std::move(request));
  }
  template <class Request>
  void Send(Request request) {
    request.send().ignoreResult().wait(scope_);
    RunReady();
  }

  TempDir directory_ = std::move(*TempDir::Make("agent"));
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  DrivenClock clock_{kSecond};
  MasterRecord record_;
  rpc::Server server_{timer_, kj::heap<FakeMaster>(record_)};
  rpc::PipeNetwork network_;
  WorkerConfig config_;
  OptionSet options_ = DeclareWorkerOptions(&config_);
  HoldingBackground background_;
  ManualRunner runner_;
  SyntheticPlane plane_;
  SyntheticExecutables executables_{background_};
  std::unique_ptr<dfs::BlockStore> blocks_ = dfs::MakeMemoryBlockStore(std::uint64_t{1} << 30);
  std::uint64_t reserved_ = 0;  // bytes of the disk that attempts may not use
  RoomProbe free_ = FreeBytes;
  std::function<std::unique_ptr<AttemptFiles>(std::unique_ptr<AttemptFiles>)> put_before_files_;
  std::unique_ptr<AttemptFiles> files_;
  std::string cluster_ = MasterRecord::kCluster;  // the cluster of the worker's directory
  std::vector<std::string> joined_;               // cluster ids that were stored with the directory
  Status join_failure_;
  Log log_ = MakeSilentLog();
  StoreFile store_file_;          // archives logs
  rpc::Dialer* peers_ = nullptr;  // reaches other workers
  std::function<std::vector<dfs::SyncTimes>()> syncs_;
  kj::Own<WorkerAgent> agent_;
};

}  // namespace millrace::worker
