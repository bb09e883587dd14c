// SPDX-License-Identifier: Apache-2.0
// Tests every list that the master answers with, with the longest texts that it accepts, over a real connection and
// through the clients that people use. Each list is larger than a message.
#include <capnp/membrane.h>
#include <capnp/schema.h>
#include <gmock/gmock.h>
#include <kj/debug.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cluster_id.h"
#include "base/rpc/control_thread.h"
#include "base/rpc/transport.h"
#include "base/text.h"
#include "client/job_client/job_client.h"
#include "client/job_client/mirror.h"
#include "dfs/client/dfs_client.h"
#include "dfs/name/types.h"
#include "dfs/wire/path.h"
#include "master/control/cluster_record.h"
#include "master/control/control.h"
#include "master/service/master_service.h"
#include "schedulers/events/event_text.h"
#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using ::testing::Ge;
using ::testing::SizeIs;

constexpr std::uint32_t kNodes = 700, kHolders = 45, kBlocks = 8000, kLocated = 200, kFiles = 400, kJobs = 1000,
                        kMaps = 300;
constexpr std::uint32_t kTasksWithCounters = 2, kCountersOfATask = 1000;

// Returns `text` extended to the longest length of a name.
std::string Long(const std::string& text) { return text + std::string(kLongestName - text.size(), 'x'); }

std::string DeepDirectory() {
  std::string path;
  while (path.size() + 2 * (dfs::kMaxNameBytes + 1) <= dfs::kMaxPathBytes)
    path += "/" + std::string(dfs::kMaxNameBytes, 'd');
  return path;
}

std::string DeepFile(std::uint32_t i) {
  std::string name = std::to_string(100'000 + i);
  return DeepDirectory() + "/" + name + std::string(dfs::kMaxNameBytes - name.size(), 'f');
}

// The longest output of a job, which leaves room for the files below it.
std::string DeepOutput(std::uint32_t i) {
  const std::string directory = DeepDirectory();
  std::string output = directory.substr(0, directory.rfind('/') + 1) + std::to_string(100'000 + i);
  return output + std::string(dfs::kMaxPathBytes - dfs::kMaxNameBytes - 64 - output.size(), 'o');
}

std::string Reason(std::uint32_t i) { return std::to_string(i) + std::string(4090, 'r'); }

// Makes a master one from before the call `changes`.
class WithoutChanges final : public capnp::MembranePolicy, public kj::Refcounted {
 public:
  kj::Maybe<capnp::Capability::Client> inboundCall(std::uint64_t interface, std::uint16_t method,
                                                   capnp::Capability::Client) override {
    if (interface != capnp::typeId<wire::Master>() || method != changes_) return nullptr;
    return capnp::Capability::Client(KJ_EXCEPTION(UNIMPLEMENTED, "no such method"));
  }
  kj::Maybe<capnp::Capability::Client> outboundCall(std::uint64_t, std::uint16_t, capnp::Capability::Client) override {
    return nullptr;
  }
  kj::Own<capnp::MembranePolicy> addRef() override { return kj::addRef(*this); }

 private:
  const std::uint16_t changes_ = capnp::Schema::from<wire::Master>().getMethodByName("changes").getIndex();
};

class ServedMaster {
 public:
  ServedMaster() {
    const Status started = thread_.Run([this](kj::AsyncIoContext& io) {
      OptionSet declared = DeclareMasterOptions(&config_);
      config_.scheduler = "fair";
      config_.startup_grace = 3600 * kSecond;  // nothing is copied meanwhile
      commit_log_ = rpc::MakeInlineCommitLog(*store_, [](const Status& failure) { FAIL() << failure.message(); });
      MILLRACE_CHECK(StoreClusterId(FormatClusterId(1, 2), store_.get()).ok(), "no cluster");
      auto control = Control::Make(
          config_, ControlDependencies{io.provider->getTimer(), clock_, *store_, *commit_log_, Random(1),
                                       [numbers = Random(2)]() mutable { return numbers.Next(); }, MakeSilentLog()});
      MILLRACE_CHECK(control.ok(), control.status().message());
      control_ = *std::move(control);
      Fill();
      return rpc::Listen(io.provider->getNetwork(), "127.0.0.1:0")
          .then([this, &io](rpc::Listening&& listening) {
            port_ = listening.port;
            services_ = MakeMasterServices(*control_);
            server_ = std::make_unique<rpc::Server>(io.provider->getTimer(), services_);
            accepting_ = server_->AcceptLoop(kj::mv(listening.receiver)).eagerlyEvaluate([](kj::Exception&&) {});
            return rpc::Listen(io.provider->getNetwork(), "127.0.0.1:0");
          })
          .then([this, &io](rpc::Listening&& listening) {
            old_port_ = listening.port;
            old_server_ = std::make_unique<rpc::Server>(io.provider->getTimer(), [this](const rpc::Peer& peer) {
              return capnp::membrane(services_(peer), kj::refcounted<WithoutChanges>());
            });
            old_accepting_ =
                old_server_->AcceptLoop(kj::mv(listening.receiver)).eagerlyEvaluate([](kj::Exception&&) {});
          });
    });
    MILLRACE_CHECK(started.ok(), started.message());
  }

  ~ServedMaster() {
    (void)thread_.Run([this](kj::AsyncIoContext&) -> kj::Promise<void> {
      accepting_ = nullptr;
      old_accepting_ = nullptr;
      server_.reset();
      old_server_.reset();
      return kj::evalLater([this] { control_.reset(); });
    });
  }

  // With `old`, connects to a master that does not know the call `changes`.
  [[nodiscard]] std::unique_ptr<dfs::DfsClient> Connect(bool old = false) const {
    dfs::ClientOptions options;
    options.master = "127.0.0.1:" + std::to_string(old ? old_port_ : port_);
    options.call_timeout = 10 * kSecond;  // a connection that breaks is made again until then
    auto client = dfs::DfsClient::Connect(options);
    MILLRACE_CHECK(client.ok(), client.status().message());
    return *std::move(client);
  }

  JobId large_job, counted_job;

 private:
  // Nodes 1 to kHolders hold blocks; the next one held some and is gone. Only the last has slots.
  void AddNodes() {
    Step step = control_->steps().Begin();
    for (std::uint32_t i = 1; i <= kNodes; ++i) {
      const std::string n = std::to_string(i);
      WorkerFacts facts{Long("storage" + n), Long("host" + n), 1, Long("socket"), Long("/rack"), Long("dc"), 0, 0, 1};
      facts.name = Long("name" + n);
      facts.release.version = Long("version");
      if (i == kNodes) facts.map_slots = 1000;
      NodeRecord& node = control_->nodes().Admit(facts, &step.batch);
      node.alive = true;
      if (i <= kHolders + 1) {
        control_->files().blocks().NodeUp(node.number, {facts.rack, facts.datacenter});
        control_->files().blocks().NodeSpace(node.number, std::uint64_t{1} << 50);
      }
      if (i == kNodes) control_->jobs().NodeRegistered(node, {}, &step);
    }
    control_->steps().FinishLazily(std::move(step));
  }

  void AddFile(const std::string& path, std::uint32_t blocks, const std::vector<NodeId>& on) {
    Step step = control_->steps().Begin();
    dfs::CreateOptions options;
    options.replication = static_cast<std::uint32_t>(on.size());
    options.owner = Long("owner");
    const Result<dfs::FileId> file = control_->files().Create(path, options, step.now, &step.batch);
    MILLRACE_CHECK(file.ok(), file.status().message());
    std::vector<dfs::WrittenBlock> written;
    for (std::uint32_t i = 0; i < blocks; ++i) {
      const auto block = control_->files().AddBlock(*file, std::nullopt, {}, &step.batch);
      MILLRACE_CHECK(block.ok(), block.status().message());
      written.push_back({block->id, std::uint64_t{1} << 20, on});
      for (const NodeId node : on) control_->files().blocks().Received(node, {block->id, std::uint64_t{1} << 20});
    }
    const Status completed = control_->files().Complete(*file, {}, written, step.now, &step.batch);
    MILLRACE_CHECK(completed.ok(), completed.message());
    control_->steps().FinishLazily(std::move(step));
  }

  JobId Submit(const std::string& output, const std::string& input, std::uint32_t maps, std::uint32_t i) {
    JobRequest request;
    const std::string n = std::to_string(i);
    request.name = Long("name" + n);
    request.owner = Long("owner" + n);
    request.pool = Long("pool" + n);
    request.output = output;
    if (!input.empty()) request.inputs = {input};
    request.split_by = input.empty() ? SplitBy::kNumbers : SplitBy::kBlock;
    request.maps = request.records = maps;
    Step step = control_->steps().Begin();
    const Result<JobId> job = control_->jobs().Submit(std::move(request), &step);
    MILLRACE_CHECK(job.ok(), job.status().message());
    control_->jobs().Decide(&step);
    launched_ = step.launches;
    control_->steps().FinishLazily(std::move(step));
    return *job;
  }

  void Fill() {
    AddNodes();
    std::vector<NodeId> holders;
    for (std::uint32_t n = 1; n <= kHolders; ++n) holders.push_back(NodeId{n});
    AddFile("/many-blocks", kBlocks, holders);
    AddFile("/located", kLocated, holders);
    for (std::uint32_t i = 0; i < kFiles; ++i) AddFile(DeepFile(i), 1, {NodeId{kHolders + 1}});
    control_->files().blocks().NodeDown(NodeId{kHolders + 1});
    counted_job = Submit("/counted", {}, kMaps, 0);
    MILLRACE_CHECK(launched_.size() == kMaps, "all maps have slots");
    Step step = control_->steps().Begin();
    for (std::uint32_t i = 0; i < kMaps; ++i) {
      const LaunchOrder& launch = launched_[i];
      if (i >= kTasksWithCounters) {
        control_->jobs().AttemptFailed(launch.node, launch.attempt, true, Reason(i), &step);
        continue;
      }
      TaskReport report;
      for (std::uint32_t c = 0; c < kCountersOfATask; ++c)
        report.counters[{Long("group" + std::to_string(i)), Long("counter" + std::to_string(c))}] = c;
      control_->jobs().AttemptDone(launch.node, launch.attempt, report, {}, &step);
    }
    control_->steps().FinishLazily(std::move(step));
    large_job = Submit("/large", "/many-blocks", 0, 1);
    for (std::uint32_t i = 2; i < kJobs; ++i) Submit(DeepOutput(kFiles + i), {}, 1, i);
  }

  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  DrivenClock clock_{kSecond};
  MasterConfig config_;
  std::unique_ptr<rpc::CommitLog> commit_log_;
  std::unique_ptr<Control> control_;
  rpc::Server::BootstrapFor services_;
  std::unique_ptr<rpc::Server> server_, old_server_;
  kj::Promise<void> accepting_ = nullptr, old_accepting_ = nullptr;
  unsigned port_ = 0, old_port_ = 0;
  std::vector<LaunchOrder> launched_;
  rpc::ControlThread thread_;
};

class AnswersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { master_ = new ServedMaster; }
  static void TearDownTestSuite() {
    delete master_;
    master_ = nullptr;
  }
  const std::unique_ptr<dfs::DfsClient> files = master_->Connect();
  job::JobClient jobs{*files};
  static ServedMaster* master_;
};

ServedMaster* AnswersTest::master_ = nullptr;

TEST_F(AnswersTest, Directory) {
  std::uint32_t i = 0;
  const Status listed = files->List(DeepDirectory(), [&](const dfs::FileStatus& entry) {
    if (entry.directory) return true;
    EXPECT_EQ(entry.path, DeepFile(i++));
    EXPECT_EQ(entry.owner, Long("owner"));
    return true;
  });
  EXPECT_TRUE(listed.ok()) << listed.message();
  EXPECT_EQ(i, kFiles);
}

TEST_F(AnswersTest, BlocksOfAFile) {
  auto reader = files->Open("/located");
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto blocks = (*reader)->Blocks();
  ASSERT_TRUE(blocks.ok()) << blocks.status().message();
  ASSERT_THAT(*blocks, SizeIs(kLocated));
  for (std::uint32_t i = 0; i < kLocated; ++i) {
    ASSERT_EQ((*blocks)[i].offset, std::uint64_t{i} << 20);
    ASSERT_THAT((*blocks)[i].replicas, SizeIs(kHolders));
  }
}

TEST_F(AnswersTest, UnhealthyBlocks) {
  std::set<std::string> expected, seen;
  for (std::uint32_t i = 0; i < kFiles; ++i) expected.insert(DeepFile(i));
  std::uint32_t listings = 0;
  const Status listed = files->ListUnhealthy([&](const dfs::UnhealthyBlock& block) {
    seen.insert(block.path);
    ++listings;
    return true;
  });
  EXPECT_TRUE(listed.ok()) << listed.message();
  EXPECT_EQ(listings, kFiles) << "each once";
  EXPECT_TRUE(seen == expected);
}

TEST_F(AnswersTest, Nodes) {
  const auto nodes = jobs.Nodes();
  ASSERT_TRUE(nodes.ok()) << nodes.status().message();
  ASSERT_THAT(*nodes, SizeIs(kNodes));
  for (std::uint32_t i = 0; i < kNodes; ++i) EXPECT_EQ((*nodes)[i].host, Long("host" + std::to_string(i + 1)));
}

TEST_F(AnswersTest, AJobWhoseExecutableWasRemovedIsToldSo) {
  JobRequest request;
  request.name = "late";
  request.inputs = {"/in"};
  request.output = "/late";
  request.executable.path = std::string(dfs::kExecutablesDirectory) + "/0123";
  const Status refused = jobs.Submit(request).status();
  EXPECT_EQ(refused.code(), StatusCode::kNotFound);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("submit it again"));
}

TEST_F(AnswersTest, TheStatusOfManyNodesFitsInAnAnswer) {
  const Result<job::ClusterStatus> status = jobs.GetClusterStatus();
  ASSERT_TRUE(status.ok()) << status.status().message();
  EXPECT_EQ(status->live, kNodes);
}

TEST_F(AnswersTest, Jobs) {
  const auto list = jobs.List(false);
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_THAT(*list, SizeIs(kJobs));
  for (std::uint32_t i = 2; i < kJobs; ++i) {
    EXPECT_EQ((*list)[i].name, Long("name" + std::to_string(i)));
    EXPECT_EQ((*list)[i].output, DeepOutput(kFiles + i));
  }
  const auto last = jobs.GetStatus(list->back().job);
  ASSERT_TRUE(last.ok()) << last.status().message();
  EXPECT_EQ(last->pool, Long("pool" + std::to_string(kJobs - 1)));
}

TEST_F(AnswersTest, Attempts) {
  const auto attempts = jobs.Attempts(master_->counted_job);
  ASSERT_TRUE(attempts.ok()) << attempts.status().message();
  ASSERT_THAT(*attempts, SizeIs(Ge(kMaps)));
  for (std::uint32_t i = kTasksWithCounters; i < kMaps; ++i) EXPECT_EQ((*attempts)[i].reason, Reason(i));
}

TEST_F(AnswersTest, Counters) {
  const auto counters = jobs.Counters(master_->counted_job);
  ASSERT_TRUE(counters.ok()) << counters.status().message();
  ASSERT_THAT(*counters, SizeIs(kTasksWithCounters * kCountersOfATask));
}

// The history has a line for each of more than 300 maps, and reasons that make up a megabyte.
TEST_F(AnswersTest, HistoryOfManyLines) {
  std::vector<std::uint64_t> numbers;
  std::size_t bytes = 0;
  const Status listed = jobs.History(master_->counted_job, [&](std::uint64_t number, const std::string& line) {
    numbers.push_back(number);
    bytes += line.size();
  });
  ASSERT_TRUE(listed.ok()) << listed.message();
  EXPECT_THAT(numbers, SizeIs(Ge(1 + 2 * kMaps)));
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
  EXPECT_GT(bytes, 1u << 20);
}

// The line of a job's submission names the holders of all its input.
TEST_F(AnswersTest, HistoryWithALineLongerThanAMessage) {
  std::vector<std::string> lines;
  const Status listed =
      jobs.History(master_->large_job, [&](std::uint64_t, const std::string& line) { lines.push_back(line); });
  ASSERT_TRUE(listed.ok()) << listed.message();
  ASSERT_THAT(lines, SizeIs(Ge(1u)));
  EXPECT_GT(lines[0].size(), 1u << 20);
  const auto submitted = sched::ParseEvent(lines[0]);
  ASSERT_TRUE(submitted.has_value()) << lines[0].substr(0, 200);
  const auto* event = std::get_if<sched::JobSubmitted>(&submitted->event);
  ASSERT_NE(event, nullptr);
  EXPECT_THAT(event->spec.maps, SizeIs(kBlocks));
}

TEST_F(AnswersTest, Scheduler) {
  const auto view = jobs.ShowScheduler();
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->groups.size() + view->more_groups, kJobs);
  EXPECT_EQ(view->more_facts, 0u);
  EXPECT_GT(view->waits.size() + view->more_waits, 0u);
  for (const auto& group : view->groups) EXPECT_THAT(group.name, SizeIs(kLongestName));
}

TEST_F(AnswersTest, AMirrorHasWhatTheListsHaveOfEveryMaster) {
  for (const bool old : {false, true}) {
    SCOPED_TRACE(old ? "a master that does not say what has changed" : "a master that does");
    const std::unique_ptr<dfs::DfsClient> there = master_->Connect(old);
    job::JobClient client(*there);
    for (const bool live_only : {false, true}) {
      job::Mirror mirror(live_only);
      ASSERT_TRUE(mirror.Refresh(client, kSecond).ok());
      EXPECT_EQ(mirror.follows(), !old);
      const auto expect_same = [&] {
        const auto list = client.List(live_only);
        ASSERT_TRUE(list.ok());
        ASSERT_EQ(mirror.jobs().size(), list->size());
        for (const JobStatus& job : *list) EXPECT_EQ(mirror.jobs().at(job.job), job);
      };
      expect_same();
      EXPECT_THAT(mirror.Nodes(), SizeIs(kNodes));
      EXPECT_EQ(mirror.Scheduler().name, "fair");
      EXPECT_GT(mirror.Scheduler().waits.size(), 0u);
      const JobId some{kJobs / 2};
      const std::uint8_t priority = mirror.jobs().at(some).priority == 0 ? 1 : 0;
      ASSERT_TRUE(client.SetPriority(some, priority).ok());
      ASSERT_TRUE(mirror.Refresh(client, 2 * kSecond).ok());
      EXPECT_EQ(mirror.jobs().at(some).priority, priority);
      expect_same();
    }
  }
}

}  // namespace
}  // namespace millrace::master
