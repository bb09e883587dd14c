// SPDX-License-Identifier: Apache-2.0
// Tests that no answer of the master says what is not on disk: every call of the schemas, made while a step of somebody
// else has not reached the disk, and some with what they would have given away.
#include "master/service/after_commits.h"

#include <capnp/dynamic.h>
#include <capnp/schema.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cluster_id.h"
#include "base/release.h"
#include "master/control/cluster_record.h"
#include "master/control/control.h"
#include "master/control/wire_codec.h"
#include "master/service/master_service.h"
#include "tests/base/protocol/schema_walk.h"
#include "tests/base/rpc_fixture.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using capnp::DynamicCapability;
using capnp::DynamicStruct;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// A commit log whose sync is held back while a test wants it so.
class SlowLog final : public rpc::CommitLog {
 public:
  explicit SlowLog(KeyValueStore& store) : store_(store) {}
  kj::Promise<void> Commit(WriteBatch batch) override {
    CommitLazily(std::move(batch));
    auto paf = kj::newPromiseAndFulfiller<void>();
    waiters_.push_back(kj::mv(paf.fulfiller));
    if (!slow_) Sync();
    return kj::mv(paf.promise);
  }
  void CommitLazily(WriteBatch batch) override { (void)store_.Write(batch, Durability::kBuffered); }
  void Slow() { slow_ = true; }
  void Sync() {
    slow_ = false;
    for (auto& waiter : std::exchange(waiters_, {})) waiter->fulfill();
  }
  // Nobody is ever told of what waits.
  void Fail() {
    for (auto& waiter : waiters_) failed_.push_back(kj::mv(waiter));
    waiters_.clear();
  }
  [[nodiscard]] std::size_t waiting() const { return waiters_.size(); }

 private:
  KeyValueStore& store_;
  bool slow_ = false;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waiters_, failed_;
};

class AfterCommitsTest : public testing::Test {
 protected:
  AfterCommitsTest() {
    (void)DeclareMasterOptions(&config_);
    config_.startup_grace = 0;
    config_.default_replication = 1;
    MILLRACE_CHECK(StoreClusterId(FormatClusterId(1, 2), store_.get()).ok(), "no cluster");
    auto made = Control::Make(
        config_, ControlDependencies{loop_.timer, clock_, *store_, log_, Random(1),
                                     [numbers = Random(2)]() mutable { return numbers.Next(); }, MakeSilentLog()});
    MILLRACE_CHECK(made.ok(), made.status().message());
    control_ = *std::move(made);
    master_ = MakeMasterServices(*control_)(rpc::Peer{}).castAs<wire::Master>();
    auto asking = master_.namesRequest();
    asking.setProtocol(ThisRelease().protocol);
    names_ = asking.send().wait(loop_.scope).getService();
    jobs_ = master_.jobsRequest().send().wait(loop_.scope).getService();
    MakeDirectory("/there");
    Node();
  }
  ~AfterCommitsTest() noexcept override {
    log_.Fail();
    calls_.clear();
    lease_ = nullptr;
    master_ = nullptr;
    names_ = nullptr;
    jobs_ = nullptr;
    control_.reset();
  }

  template <class Promise>
  auto Wait(Promise&& promise) {
    return promise.wait(loop_.scope);
  }
  kj::Promise<void> AskForDirectory(const std::string& path) {
    auto request = names_.makeDirectoryRequest();
    request.setPath(ToData(path));
    return request.send().ignoreResult();
  }
  void MakeDirectory(const std::string& path) { Wait(AskForDirectory(path)); }
  kj::Promise<bool> Stat(const std::string& path) {
    auto request = names_.statRequest();
    request.setPath(ToData(path));
    return request.send().then([](auto&&) { return true; },
                               [](kj::Exception&& why) {
                                 EXPECT_EQ(rpc::FromException(why).code(), StatusCode::kNotFound);
                                 return false;
                               });
  }
  kj::Promise<std::vector<std::string>> List(const std::string& path) {
    auto request = names_.listRequest();
    request.setPath(ToData(path));
    return request.send().then([](auto&& answer) {
      std::vector<std::string> found;
      for (const auto entry : answer.getEntries()) found.push_back(ToString(entry.getPath()));
      return found;
    });
  }
  // A step of somebody else, which nobody waits for.
  void Step(const std::string& directory) {
    master::Step step = control_->steps().Begin();
    MILLRACE_CHECK(control_->files().MakeDirectory(directory, "ann", step.now, &step.batch).ok(), "no directory");
    control_->steps().FinishLazily(std::move(step));
  }
  void Node() {
    master::Step step = control_->steps().Begin();
    NodeRecord& node = control_->nodes().Admit({"storage", "host", 1, "socket", "/r", "d", 1, 1, 1}, &step.batch);
    node.alive = true;
    control_->files().blocks().NodeUp(node.number, {"/r", "d"});
    control_->jobs().NodeRegistered(node, {}, &step);
    control_->steps().FinishLazily(std::move(step));
  }
  dfs::wire::FileLease::Client Open(const std::string& path) {
    auto request = names_.createRequest();
    request.setPath(ToData(path));
    return Wait(request.send()).getLease();
  }
  JobId Submit() {
    auto request = jobs_.submitRequest();
    auto job = request.initRequest();
    job.setName("job");
    job.setSplitBy(wire::SplitBy::NUMBERS);
    job.setMaps(1);
    job.setRecords(1);
    job.setToken("token");
    job.setExecutable(ToData("/job"));
    job.setOutput(ToData("/out"));
    return JobId{Wait(request.send()).getJob()};
  }
  template <class T>
  bool Answered(kj::Promise<T>& promise) {
    return promise.poll(loop_.scope);
  }

  rpc::DrivenLoop loop_;
  DrivenClock clock_{kSecond};
  MasterConfig config_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  SlowLog log_{*store_};
  std::unique_ptr<Control> control_;
  wire::Master::Client master_ = nullptr;
  dfs::wire::NameService::Client names_ = nullptr;
  wire::JobService::Client jobs_ = nullptr;
  dfs::wire::FileLease::Client lease_ = nullptr;
  std::vector<kj::Promise<void>> calls_;
};

// ---- every call ----

// The arguments of a call: existing things, as far as its parameters name anything.
void FillIn(DynamicStruct::Builder in, JobId job, int number) {
  const std::string fresh = "/there/new" + std::to_string(number);
  const auto data = [](const std::string& text) { return capnp::Data::Reader(rpc::ToData(text)); };
  for (const auto field : in.getSchema().getFields()) {
    const std::string name = field.getProto().getName().cStr();
    if (name == "path" || name == "to") in.set(field, data(fresh));
    if (name == "from") in.set(field, data("/there"));
    if (name == "job") in.set(field, job.value);
    if (name == "directory") in.set(field, "/nowhere");
    if (name == "attempt" && field.getType().isStruct()) in.init(field).as<DynamicStruct>().set("job", job.value);
  }
}

// A call that is added to the schemas is one that waits, or this test fails until it is listed here as one that need
// not.
TEST_F(AfterCommitsTest, EveryCallThatMaySayWhatAStepChangedWaitsForTheStep) {
  const JobId job = Submit();
  dfs::wire::FileLease::Client lease = Open("/there/open");
  const auto serve = [](auto client) {
    return DynamicCapability::Client(kj::mv(client));
  };  // it takes what it is given
  std::map<std::string, DynamicCapability::Client> served;
  served.emplace("NameProvider", serve(master_));
  served.emplace("Master", serve(master_));
  served.emplace("NameService", serve(names_));
  served.emplace("FileLease", serve(lease));
  served.emplace("JobService", serve(jobs_));
  std::set<std::string> at_once, early;
  int number = 0;
  for (const SchemaWalk::Call& call :
       SchemaWalk(capnp::Schema::from<wire::Master>(), SchemaWalk::Through::kResults).calls) {
    const std::string interface = call.name.substr(0, call.name.find('.'));
    if (interface == "WorkerSession" || interface == "Subscription") {
      EXPECT_EQ(RuleOf(call.interface, call.method), AnswerRule::kNothing) << call.name;
      continue;
    }
    if (RuleOf(call.interface, call.method) == AnswerRule::kNothing) {
      at_once.insert(call.name);
      continue;
    }
    ASSERT_TRUE(served.contains(interface)) << call.name << " is of an interface that this test does not know";
    // A step is under way when the call comes, and when it is refused.
    log_.Sync();
    loop_.Advance(1 * kj::SECONDS);
    log_.Slow();
    Step("/there/step" + std::to_string(++number));
    DynamicCapability::Client service = served.at(interface);
    auto request = service.newRequest(call.schema);
    FillIn(request, job, number);
    kj::Promise<void> answer = request.send().ignoreResult().catch_([](kj::Exception&&) {});
    EXPECT_FALSE(Answered(answer)) << call.name << " was answered before a step was on disk";
    log_.Sync();
    loop_.Advance(60 * kj::SECONDS);
    EXPECT_TRUE(Answered(answer)) << call.name << " was not answered";
    if (!call.schema.isStreaming() && RuleOf(call.interface, call.method) == AnswerRule::kEarlier)
      early.insert(call.name);
  }
  EXPECT_GT(number, 40);
  EXPECT_THAT(at_once, UnorderedElementsAre("NameProvider.names", "Master.jobs", "Master.version", "Master.whoAmI",
                                            "Master.register", "FileLease.renew", "FileLease.handOver"));
  EXPECT_THAT(early, UnorderedElementsAre("NameService.create"));
}

TEST_F(AfterCommitsTest, AnIdleMasterWaitsForNothing) {
  log_.Sync();
  Wait(Stat("/there"));  // what the set-up left is on disk
  log_.Slow();
  auto stat = Stat("/there");
  auto list = List("/");
  EXPECT_TRUE(Answered(stat));
  EXPECT_TRUE(Answered(list));
  EXPECT_EQ(log_.waiting(), 0u) << "nothing was handed to the log";
  EXPECT_TRUE(Wait(kj::mv(stat)));
}

TEST_F(AfterCommitsTest, ManyReadersShareAWaitThatIsUnderWay) {
  log_.Slow();
  auto made = AskForDirectory("/a");
  EXPECT_FALSE(Answered(made));
  std::vector<kj::Promise<bool>> readers;
  for (int i = 0; i < 10; ++i) readers.push_back(Stat("/a"));
  for (auto& reader : readers) EXPECT_FALSE(Answered(reader));
  EXPECT_EQ(log_.waiting(), 1u) << "the commit of the directory";
  log_.Sync();
  for (auto& reader : readers) EXPECT_TRUE(Wait(kj::mv(reader)));
}

// ---- what they would have given away ----

TEST_F(AfterCommitsTest, ADirectoryThatNobodyWasToldOfIsNotSeen) {
  log_.Slow();
  auto made = AskForDirectory("/a");
  auto stat = Stat("/a");
  auto list = List("/");
  EXPECT_FALSE(Answered(made));
  EXPECT_FALSE(Answered(stat));
  EXPECT_FALSE(Answered(list));
  log_.Sync();
  Wait(kj::mv(made));
  EXPECT_TRUE(Wait(kj::mv(stat)));
  EXPECT_THAT(Wait(kj::mv(list)), ElementsAre("/a", "/there"));
}

// That something is gone is news as well, and is an error.
TEST_F(AfterCommitsTest, ARenameAndARemovalAreNotSeenBeforeTheyAreOnDisk) {
  MakeDirectory("/a");
  MakeDirectory("/b");
  log_.Slow();
  auto rename = names_.renameRequest();
  rename.setFrom(ToData("/a"));
  rename.setTo(ToData("/c"));
  auto renamed = rename.send().ignoreResult();
  auto remove = names_.removeRequest();
  remove.setPath(ToData("/b"));
  auto removed = remove.send().ignoreResult();
  auto a = Stat("/a"), b = Stat("/b"), c = Stat("/c");
  auto again = AskForDirectory("/c");  // is there already
  for (auto* answer : {&a, &b, &c}) EXPECT_FALSE(Answered(*answer));
  EXPECT_FALSE(Answered(again));
  EXPECT_FALSE(Answered(renamed));
  EXPECT_FALSE(Answered(removed));
  log_.Sync();
  EXPECT_FALSE(Wait(kj::mv(a)));
  EXPECT_FALSE(Wait(kj::mv(b)));
  EXPECT_TRUE(Wait(kj::mv(c)));
}

TEST_F(AfterCommitsTest, WhatAFailedLogLosesIsNeverTold) {
  log_.Slow();
  calls_.push_back(AskForDirectory("/a"));
  auto stat = Stat("/a");
  bool told = false;
  calls_.push_back(
      stat.then([&told](bool) { told = true; }, [&told](kj::Exception&&) { told = true; }).eagerlyEvaluate(nullptr));
  log_.Fail();
  loop_.Advance(10 * kj::SECONDS);
  EXPECT_FALSE(told);
}

class Watching final : public wire::JobWatcher::Server {
 public:
  explicit Watching(std::vector<wire::JobState>& seen) : seen_(seen) {}
  kj::Promise<void> changed(ChangedContext context) override {
    seen_.push_back(context.getParams().getStatus().getState());
    return kj::READY_NOW;
  }

 private:
  std::vector<wire::JobState>& seen_;
};

TEST_F(AfterCommitsTest, WatchersAreToldOfWhatIsOnDisk) {
  const JobId job = Submit();
  std::vector<wire::JobState> seen;
  auto watch = jobs_.watchRequest();
  watch.setJob(job.value);
  watch.setWatcher(kj::heap<Watching>(seen));
  auto subscription = Wait(watch.send()).getSubscription();
  loop_.Advance(1 * kj::SECONDS);
  seen.clear();
  log_.Slow();
  auto priority = jobs_.setPriorityRequest();
  priority.setJob(job.value);
  priority.setPriority(0);
  auto set = priority.send().ignoreResult();
  loop_.Advance(1 * kj::SECONDS);
  EXPECT_THAT(seen, ElementsAre());
  log_.Sync();
  loop_.Advance(1 * kj::SECONDS);
  EXPECT_EQ(seen.size(), 1u);
  log_.Slow();
  auto kill = jobs_.killRequest();
  kill.setJob(job.value);
  auto killed = kill.send().ignoreResult();
  loop_.Advance(1 * kj::SECONDS);
  EXPECT_EQ(seen.size(), 1u);
  log_.Sync();
  loop_.Advance(1 * kj::SECONDS);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.back(), wire::JobState::KILLED);
}

// The same change asked for twice: the second makes no step of its own, and speaks of the first one.
TEST_F(AfterCommitsTest, AStepThatChangesNothingIsAnsweredAfterTheOneThatDid) {
  log_.Slow();
  auto first = AskForDirectory("/a/b");
  auto second = AskForDirectory("/a/b");
  EXPECT_FALSE(Answered(first));
  EXPECT_FALSE(Answered(second));
  auto idle = control_->steps().Finish(control_->steps().Begin());
  EXPECT_FALSE(Answered(idle));
  log_.Sync();
  Wait(kj::mv(first));
  Wait(kj::mv(idle));
}

// A writer no longer has what it wrote to a finished block, so a master that is started again must know the block.
TEST_F(AfterCommitsTest, ABlockIsGivenOutWhenItIsOnDisk) {
  control_->files().blocks().NodeSpace(NodeId{1}, std::uint64_t{1} << 40);
  lease_ = Open("/f");
  log_.Slow();
  auto block = lease_.addBlockRequest().send();
  EXPECT_FALSE(block.poll(loop_.scope));
  log_.Sync();
  EXPECT_NE(Wait(kj::mv(block)).getId(), 0u);
}

// Blocks that workers are ordered to delete are deleted for good.
TEST_F(AfterCommitsTest, NoReplicaIsDeletedBeforeTheRemovalIsOnDisk) {
  std::vector<std::string> orders;
  class Worker final : public worker::wire::WorkerControl::Server {
   public:
    explicit Worker(std::vector<std::string>& orders) : orders_(orders) {}
    kj::Promise<void> deleteBlocks(DeleteBlocksContext) override {
      orders_.emplace_back("delete");
      return kj::READY_NOW;
    }
    kj::Promise<void> ping(PingContext) override { return kj::READY_NOW; }

   private:
    std::vector<std::string>& orders_;
  };
  const WorkerFacts facts{"storage2", "host2", 2, "socket", "/r", "d", 0, 0, 2};
  auto registered = control_->workers().Register(facts, kj::heap<Worker>(orders), {}, {}, {});
  ASSERT_TRUE(registered.ok());
  Wait(kj::mv(registered->committed));
  control_->files().blocks().NodeSpace(registered->node, std::uint64_t{1} << 40);
  control_->files().blocks().ReportEnd(registered->node);
  master::Step step = control_->steps().Begin();
  const dfs::FileId file = *control_->files().Create("/f", {.replication = 1}, step.now, &step.batch);
  const auto block = control_->files().AddBlock(file, registered->node, {}, &step.batch);
  ASSERT_TRUE(block.ok()) << block.status().message();
  control_->files().blocks().Received(registered->node, {block->id, 1, 1});
  control_->steps().FinishLazily(std::move(step));
  Wait(control_->steps().Kept());
  ASSERT_TRUE(control_->open_files().GiveUp(file, "test").ok());
  log_.Slow();
  for (int i = 0; i < 3; ++i) {
    (void)control_->workers().Heard(registered->node, registered->epoch);
    loop_.Advance(1 * kj::SECONDS);
  }
  EXPECT_THAT(orders, ElementsAre());
  log_.Sync();
  loop_.Advance(1 * kj::SECONDS);
  // What is known to be there, and what may be left of the write that was given up.
  EXPECT_THAT(orders, AllOf(Not(IsEmpty()), Each("delete")));
}

}  // namespace
}  // namespace millrace::master
