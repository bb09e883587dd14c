// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/cluster_id.h"
#include "base/rpc/status_codec.h"
#include "dfs/data/block_store.h"
#include "master/control/cluster_record.h"
#include "master/control/wire_codec.h"
#include "master/jobs/journal.h"
#include "master/service/master_service.h"
#include "tests/fakes/inline_background.h"
#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_block_store.h"
#include "tests/fakes/pipe_network.h"

namespace millrace {
namespace {

constexpr const char* kMaster = "master:1";

}  // namespace

// A worker's way to the network, which can be cut.
class SimulatedCluster::Dialer final : public rpc::Dialer {
 public:
  explicit Dialer(rpc::PipeNetwork& network) : network_(network) {}
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override {
    if (cut_) return rpc::ToException(Unavailable("connect to " + std::string(address.cStr()) + ": cut"));
    return network_.Dial(address).then([this](kj::Own<kj::AsyncIoStream> stream) {
      kj::AsyncIoStream& ends = *stream;
      streams_.push_back(&ends);
      return stream.attach(kj::defer([this, &ends] { std::erase(streams_, &ends); }));
    });
  }
  void Cut() {
    cut_ = true;
    for (kj::AsyncIoStream* stream : std::vector(streams_)) {
      stream->shutdownWrite();
      stream->abortRead();
    }
  }
  void Mend() { cut_ = false; }

 private:
  rpc::PipeNetwork& network_;
  std::vector<kj::AsyncIoStream*> streams_;
  bool cut_ = false;
};

// The ports of all workers, as the master finds them.
class SimulatedCluster::Ports final : public rpc::Dialer {
 public:
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override {
    const auto port = states.find(address.cStr());
    if (port != states.end() && port->second == Port::kSilent) return kj::NEVER_DONE;
    if (port != states.end() && port->second == Port::kDeserted) return rpc::NobodyListens(address.cStr());
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    return kj::mv(pipe.ends[0]);
  }
  std::map<std::string, Port> states;  // by address; others listen
};

struct SimulatedCluster::Worker {
  Worker(SimulatedCluster& cluster, std::uint32_t number)
      : dialer(cluster.network_),
        runner(cluster.timer_, Random(cluster.random_.Next()), cluster.options_.times),
        executables(background) {
    worker::WorkerConfig config;
    const OptionSet options = worker::DeclareWorkerOptions(&config);
    config.master = kMaster;
    config.host = "host" + std::to_string(number);
    config.rack = "/rack" + std::to_string(number % cluster.options_.racks);
    config.datacenter = "dc" + std::to_string(number % cluster.options_.datacenters);
    config.map_slots = cluster.options_.map_slots;
    config.reduce_slots = cluster.options_.reduce_slots;
    agent = std::make_unique<worker::WorkerAgent>(
        worker::AgentParts{cluster.timer_, dialer, runner, *blocks, plane, files, executables, background, background,
                           cluster.clock_, nullptr,
                           [this] {
                             return std::vector<dfs::SyncTimes>{{"disk", 10, syncs_take, syncs_take}};
                           },
                           [&cluster] { return cluster.worker_certificates_; },
                           [&cluster] { return cluster.worker_python_; }},
        config,
        worker::WorkerIdentity{"storage" + std::to_string(number), 1, "", "",
                               [](const std::string&) { return Status::Ok(); }},
        Random(cluster.random_.Next()), MakeSilentLog());
    agent->Start();
  }

  Micros syncs_take = 10 * kMillisecond;
  Dialer dialer;
  rpc::InlineBackground background;
  worker::SyntheticRunner runner;
  std::unique_ptr<dfs::BlockStore> blocks = dfs::MakeMemoryBlockStore(std::uint64_t{1} << 40);
  worker::SyntheticPlane plane;
  worker::SyntheticFiles files;
  worker::SyntheticExecutables executables;
  std::unique_ptr<worker::WorkerAgent> agent;
};

// The scheduler file, in memory.
class SimulatedCluster::SettingsFile final : public master::WatchedFile {
 public:
  explicit SettingsFile(const std::string& text) : text_(text) {}
  const std::string& name() const override { return name_; }
  Result<std::string> Read() override { return given_ = text_; }
  Result<std::optional<std::string>> TakeChange() override {
    if (given_ == text_) return std::optional<std::string>();
    if (text_ == kThrows) throw std::out_of_range(given_ = text_);
    return std::optional(given_ = text_);
  }

 private:
  std::string name_ = "scheduler.toml";
  const std::string& text_;
  std::string given_;
};

// Writes at once and can keep its answers to itself.
class SimulatedCluster::MuteLog final : public rpc::CommitLog {
 public:
  explicit MuteLog(std::unique_ptr<rpc::CommitLog> log) : log_(std::move(log)) {}
  kj::Promise<void> Commit(WriteBatch batch) override {
    auto committed = log_->Commit(std::move(batch));
    return mute ? kj::Promise<void>(kj::NEVER_DONE) : kj::mv(committed);
  }
  void CommitLazily(WriteBatch batch) override { log_->CommitLazily(std::move(batch)); }

  bool mute = false;

 private:
  std::unique_ptr<rpc::CommitLog> log_;
};

SimulatedCluster::SimulatedCluster(const SimulatedOptions& options)
    : options_(options), random_(options.seed), ports_(std::make_unique<Ports>()), settings_(options.settings) {
  OptionSet declared = master::DeclareMasterOptions(&config_);
  config_.scheduler = options.scheduler;
  config_.forget_nodes_after = options.forget_nodes_after.value_or(config_.forget_nodes_after);
  config_.executable_retention = options.executable_retention.value_or(config_.executable_retention);
  config_.trash_retention = options.trash_retention.value_or(config_.trash_retention);
  config_.job_logs_keep = options.job_logs_keep.value_or(config_.job_logs_keep);
  config_.history_jobs = options.history_jobs.value_or(config_.history_jobs);
  EXPECT_TRUE(master::StoreClusterId(FormatClusterId(0, options.seed), store_.get()).ok());
  commit_log_ = std::make_unique<MuteLog>(
      rpc::MakeInlineCommitLog(*store_, [](const Status& failure) { FAIL() << failure.message(); }));
  StartMaster();
  client_ = std::make_unique<rpc::Link>(network_, timer_, kMaster, Random(random_.Next()));
  for (std::uint32_t n = 0; n < options.workers; ++n) workers_.push_back(std::make_unique<Worker>(*this, n));
  Advance(1);
}

SimulatedCluster::~SimulatedCluster() noexcept {
  workers_.clear();
  strangers_.clear();
  unanswered_.clear();
  client_.reset();
  StopMaster();
}

void SimulatedCluster::StartMaster() {
  commit_log_->mute = false;
  auto control = master::Control::Make(
      config_, master::ControlDependencies{timer_,
                                           clock_,
                                           *store_,
                                           *commit_log_,
                                           Random(random_.Next()),
                                           [numbers = Random(random_.Next())]() mutable { return numbers.Next(); },
                                           MakeSilentLog(),
                                           std::make_unique<SettingsFile>(settings_),
                                           nullptr,
                                           [this]() -> Result<master::Room> {
                                             return master::Room{free_, 0};
                                           },
                                           ports_.get(),
                                           {},
                                           options_.master,
                                           {},
                                           nullptr,
                                           {},
                                           &spare_,
                                           false,
                                           nullptr,
                                           [this] { return certificates_; },
                                           options_.background,
                                           options_.programs,
                                           options_.start_program});
  ASSERT_TRUE(control.ok()) << control.status().message();
  control_ = *std::move(control);
  server_ = std::make_unique<rpc::Server>(timer_, master::MakeMasterServices(*control_));
  network_.Serve(kMaster, *server_);
}

void SimulatedCluster::StopMaster() {
  network_.Remove(kMaster);
  server_.reset();
  scope_.poll();  // capabilities that the connections held go before what they refer to
  control_.reset();
}

void SimulatedCluster::RestartMaster() {
  StopMaster();
  StartMaster();
}

std::unique_ptr<KeyValueStore> SimulatedCluster::RestartMasterWith(std::unique_ptr<KeyValueStore> store) {
  StopMaster();
  std::swap(store, store_);
  commit_log_ = std::make_unique<MuteLog>(
      rpc::MakeInlineCommitLog(*store_, [](const Status& failure) { FAIL() << failure.message(); }));
  StartMaster();
  return store;
}

namespace {

// The end of a worker that is stopped: its connection stands, and no call is answered.
class DeafWorker final : public worker::wire::WorkerControl::Server {
  kj::Promise<void> ping(PingContext) override { return kj::NEVER_DONE; }
};

}  // namespace

Status SimulatedCluster::RegisterAs(const Stranger& stranger) {
  Status status;
  bool answered = false;
  auto call = client_->Connected()
                  .then([&](capnp::Capability::Client bootstrap) {
                    auto request = bootstrap.castAs<master::wire::Master>().registerRequest();
                    auto worker = request.initWorker();
                    worker.setHost(stranger.host);
                    worker.setPort(1);
                    worker.setStorage(stranger.storage.empty() ? "storage of " + stranger.host : stranger.storage);
                    worker.setCluster(stranger.cluster);
                    worker.setVersion(ThisRelease().version);
                    worker.setProtocol(ThisRelease().protocol);
                    if (stranger.stays) request.setControl(kj::heap<DeafWorker>());
                    return request.send();
                  })
                  .then(
                      [&](capnp::Response<master::wire::Master::RegisterResults>&& answer) {
                        if (stranger.stays) strangers_.push_back(answer.getSession());
                        answered = true;
                      },
                      [&](kj::Exception&& failure) {
                        answered = true;
                        status = rpc::FromException(failure);
                      })
                  .eagerlyEvaluate(nullptr);
  while (!answered) Advance(0.01);
  return status;
}

void SimulatedCluster::SetPort(std::uint32_t worker, Port port) {
  ports_->states["host" + std::to_string(worker) + ":1"] = port;
}

dfs::BlockStore& SimulatedCluster::blocks(std::uint32_t worker) { return *workers_.at(worker)->blocks; }

void SimulatedCluster::Advance(double seconds) {
  const kj::TimePoint end = timer_.now() + static_cast<std::int64_t>(seconds * 1e6) * kj::MICROSECONDS;
  scope_.poll();
  while (true) {
    kj::TimePoint next = end;
    KJ_IF_MAYBE (event, timer_.nextEvent()) {
      next = kj::min(*event, end);
    }
    clock_.Set(kSecond + (next - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS);
    timer_.advanceTo(next);
    scope_.poll();
    if (next >= end) return;
  }
}

void SimulatedCluster::Pause(double seconds) {
  const kj::TimePoint end = timer_.now() + static_cast<std::int64_t>(seconds * 1e6) * kj::MICROSECONDS;
  clock_.Set(kSecond + (end - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS);
  timer_.advanceTo(end);
  scope_.poll();
}

bool SimulatedCluster::RunUntilIdle(double seconds) {
  for (const double end = this->seconds() + seconds; this->seconds() < end;) {
    if (control_->jobs().JobsAfter(JobId{0}, 1, true).empty()) return true;
    Advance(1);
  }
  return false;
}

double SimulatedCluster::seconds() const {
  return static_cast<double>((timer_.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS) / 1e6;
}

dfs::BlockId SimulatedCluster::StoreFile(const std::string& path) {
  const std::string data(100, 'x');
  const std::vector<std::uint32_t> crcs = dfs::ChunkCrcs(data);
  master::Step step = control_->steps().Begin();
  const auto file = control_->files().Create(path, {.replication = 1}, step.now, &step.batch);
  const NodeId writer = control_->nodes().FindByStorage("storage0")->number;  // a file's first replica is the writer's
  const auto block = control_->files().AddBlock(*file, writer, {}, &step.batch);
  auto writing = blocks(0).Create(block->id);
  EXPECT_TRUE((*writing)->Append(data, crcs).ok());
  EXPECT_TRUE((*writing)->Finish().ok());
  const std::vector<dfs::WrittenBlock> written = {{block->id, data.size(), {block->targets[0]}, dfs::BlockCrc(crcs)}};
  EXPECT_TRUE(control_->files().Complete(*file, {}, written, step.now, &step.batch).ok());
  control_->steps().FinishLazily(std::move(step));
  Cut(0);
  Advance(1);
  Mend(0);
  Advance(30);
  return block->id;
}

void SimulatedCluster::AddFile(const std::string& path, std::uint32_t blocks) {
  constexpr std::uint64_t kBlock = std::uint64_t{64} << 20;
  master::Step step = control_->steps().Begin();
  dfs::CreateOptions create;
  create.replication = 2;
  const Result<dfs::FileId> file = control_->files().Create(path, create, step.now, &step.batch);
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<dfs::WrittenBlock> written;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const auto block = control_->files().AddBlock(*file, std::nullopt, {}, &step.batch);
    ASSERT_TRUE(block.ok()) << block.status().message();
    written.push_back({block->id, kBlock, {block->targets.begin(), block->targets.end()}});
  }
  ASSERT_TRUE(control_->files().Complete(*file, {}, written, step.now, &step.batch).ok());
  control_->steps().FinishLazily(std::move(step));
}

kj::Promise<void> SimulatedCluster::Ask(const SyntheticJob& wanted) {
  return client_->Connected().then([wanted](capnp::Capability::Client bootstrap) {
    auto request = bootstrap.castAs<master::wire::Master>().jobsRequest().send().getService().submitRequest();
    auto job = request.initRequest();
    job.setName("synthetic");
    job.initInputs(1).set(0, master::ToData(wanted.input));
    job.setOutput(master::ToData(wanted.output));
    job.setReduces(wanted.reduces);
    job.setPool(wanted.pool);
    job.setExecutable(master::ToData("/job"));
    job.setToken("token of " + wanted.output);  // so that a repeated request is the same job
    return request.send().ignoreResult();
  });
}

void SimulatedCluster::Submit(const std::string& input, const std::string& output, std::uint32_t reduces,
                              const std::string& pool) {
  for (bool accepted = false; !accepted;) {
    auto submitted = Ask({input, output, reduces, pool})
                         .then([&] { accepted = true; },
                               [&](kj::Exception&& failure) {
                                 const bool busy = rpc::FromException(failure).code() == StatusCode::kBusy;
                                 ASSERT_TRUE(busy || rpc::ConnectionBroke(failure));
                                 put_off_ += busy;
                               })
                         .eagerlyEvaluate(nullptr);
    while (!submitted.poll(scope_)) Advance(0.01);
  }
}

void SimulatedCluster::SubmitAndForget(const std::string& input, const std::string& output) {
  unanswered_.push_back(Ask({input, output, 0, ""}).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr));
}

std::map<std::string, JobState> SimulatedCluster::Outputs() {
  std::map<std::string, JobState> outputs;
  for (const JobId job : control_->jobs().JobsAfter(JobId{0}, 1'000'000, false)) {
    const auto view = control_->jobs().View(job);
    outputs[view->record->request.output] = view->state;
  }
  return outputs;
}

void SimulatedCluster::Cut(std::uint32_t worker) { workers_.at(worker)->dialer.Cut(); }
void SimulatedCluster::Mend(std::uint32_t worker) { workers_.at(worker)->dialer.Mend(); }

void SimulatedCluster::Foretell(std::uint32_t worker, std::optional<double> seconds) {
  std::optional<worker::Departure> departure;
  if (seconds) {
    const auto in = static_cast<std::int64_t>(*seconds * 1e6) * kj::MICROSECONDS;
    departure = worker::Departure{timer_.now() + in, "spot notice"};
  }
  workers_.at(worker)->agent->Foretell(std::move(departure));
}

void SimulatedCluster::SetSyncs(std::uint32_t worker, Micros take) { workers_.at(worker)->syncs_take = take; }

void SimulatedCluster::Drain(std::uint32_t worker, bool drained) {
  const NodeId node = control_->nodes().FindByStorage("storage" + std::to_string(worker))->number;
  bool done = false;
  while (!done) {
    auto call =
        client_->Connected()
            .then([&](capnp::Capability::Client bootstrap) {
              auto request = bootstrap.castAs<master::wire::Master>().drainNodeRequest();
              request.initNodes(1).set(0, node.value);
              request.setDrained(drained);
              request.setForce(true);
              return request.send().ignoreResult();
            })
            .then([&] { done = true; }, [&](kj::Exception&& failure) { ASSERT_TRUE(rpc::ConnectionBroke(failure)); })
            .eagerlyEvaluate(nullptr);
    while (!call.poll(scope_)) Advance(0.01);
  }
}

void SimulatedCluster::LoseAnswers() { commit_log_->mute = true; }

const std::set<AttemptId>& SimulatedCluster::Served(std::uint32_t worker) const {
  return workers_.at(worker)->plane.served();
}

std::vector<std::string> SimulatedCluster::Journal() const {
  std::map<std::uint64_t, std::string> lines;
  EXPECT_TRUE(store_
                  ->Scan("e/", {},
                         [&](std::string_view key, std::string_view line) {
                           lines.emplace(master::JournalSequence(key).value_or(0), line);
                           return true;
                         })
                  .ok());
  std::vector<std::string> journal;
  for (auto& [sequence, line] : lines) journal.push_back(std::move(line));
  return journal;
}

std::size_t SimulatedCluster::JournalLines(const std::string& event) const {
  const auto journal = Journal();
  return static_cast<std::size_t>(std::count_if(journal.begin(), journal.end(), [&](const std::string& line) {
    return line.substr(line.find(' ') + 1).starts_with(event);
  }));
}

}  // namespace millrace
