// SPDX-License-Identifier: Apache-2.0
// Makes every call of the schemas, to a master with TLS, as everybody there is: without a certificate, as the user
// whose the subject of the call is, as another, as those who administer, as a worker and as tasks. Each is refused or
// allowed as the table of calls says, and for the rights on a subject as the rule of that right says. A call that this
// test does not know fails it. Real sockets; the master has no workers but the one that registers here.
#include <capnp/dynamic.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cluster_id.h"
#include "base/file.h"
#include "base/protocol/call_rights.h"
#include "base/release.h"
#include "base/rpc/link.h"
#include "base/rpc/status_codec.h"
#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"
#include "master/control/cluster_record.h"
#include "master/control/control.h"
#include "master/service/master_service.h"
#include "tests/base/protocol/schema_walk.h"
#include "tests/base/tls/tls_fixture.h"
#include "tests/fakes/inline_commit_log.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using capnp::DynamicCapability;
using capnp::DynamicStruct;
using tls::Role;

constexpr const char* kAccess = R"(
administrators = ["admin"]
[pools.production]
submit = ["ann"]
administer = ["carl"]
)";

// Everybody who makes the calls. Those who are refused most come first, so that the subjects are still there.
const std::vector<std::string> kCallers = {"client:bob",  "task:bob",     "task:ann",  "worker:w1",
                                           "client:carl", "client:admin", "client:ann"};

class TextFile final : public WatchedFile {
 public:
  const std::string& name() const override { return name_; }
  Result<std::string> Read() override { return std::string(kAccess); }
  Result<std::optional<std::string>> TakeChange() override { return std::optional<std::string>(); }

 private:
  std::string name_ = "access.toml";
};

class NoControl final : public worker::wire::WorkerControl::Server {};

// The arguments of each call: things of Ann's, where the call is about something.
struct Subjects {
  std::uint32_t job = 0;   // in pool production
  std::uint64_t file = 0;  // that she is writing
  int number = 0;          // of the call, for things that are made
};
using Ask = std::function<void(DynamicStruct::Builder, const Subjects&)>;

capnp::Data::Reader Path(const char* path) { return kj::StringPtr(path).asBytes(); }

const std::map<std::string, Ask>& Asks() {
  const Ask nothing = [](DynamicStruct::Builder, const Subjects&) {};
  const auto path = [](const char* at) {
    return Ask([at](DynamicStruct::Builder in, const Subjects&) { in.set("path", Path(at)); });
  };
  const Ask new_path = [](DynamicStruct::Builder in, const Subjects& of) {
    const std::string made = "/private/new" + std::to_string(of.number);
    in.set("path", capnp::Data::Reader(kj::StringPtr(made.c_str()).asBytes()));
  };
  const Ask job = [](DynamicStruct::Builder in, const Subjects& of) { in.set("job", of.job); };
  const Ask attempt = [](DynamicStruct::Builder in, const Subjects& of) {
    in.init("attempt").as<DynamicStruct>().set("job", of.job);
  };
  const Ask attempt_done = [](DynamicStruct::Builder in, const Subjects& of) {
    in.init("done").as<DynamicStruct>().init("attempt").as<DynamicStruct>().set("job", of.job);
  };
  const Ask submit = [](DynamicStruct::Builder in, const Subjects& of) {
    auto request = in.init("request").as<DynamicStruct>();
    request.set("name", "job");
    request.set("pool", "production");
    request.set("splitBy", "numbers");
    request.set("maps", 1);
    request.set("records", 1);
    request.set("token", std::to_string(of.number).c_str());
    const std::string output = "/out" + std::to_string(of.number);
    request.set("output", capnp::Data::Reader(kj::StringPtr(output.c_str()).asBytes()));
  };
  const Ask rename = [](DynamicStruct::Builder in, const Subjects&) {
    in.set("from", Path("/private/file"));
    in.set("to", Path("/private/moved"));
  };
  const Ask mode = [](DynamicStruct::Builder in, const Subjects&) {
    in.set("path", Path("/private/file"));
    in.set("mode", 0600);
  };
  const Ask group = [](DynamicStruct::Builder in, const Subjects&) {
    in.set("path", Path("/private/file"));
    in.set("owner", "ann");
  };
  const Ask of_anns_trash = [](DynamicStruct::Builder in, const Subjects&) {
    in.set("user", "ann");
    KJ_IF_MAYBE (field, in.getSchema().findFieldByName("path")) in.set(*field, Path("/private/gone"));
  };
  const Ask resume = [](DynamicStruct::Builder in, const Subjects& of) { in.set("file", of.file); };
  const Ask node = [](DynamicStruct::Builder in, const Subjects&) { in.set("node", 1); };
  const Ask hand_over = [](DynamicStruct::Builder in, const Subjects& of) {
    in.set("attempt", ("job" + std::to_string(of.job) + ".m.0.0").c_str());
  };
  static const std::map<std::string, Ask> asks = {
      {"NameProvider.names", nothing},
      {"Master.jobs", nothing},
      {"Master.register", nothing},
      {"Master.nodes", nothing},
      {"Master.drainNode", nothing},
      {"Master.version", nothing},
      {"Master.unused", nothing},
      {"Master.setScheduler", nothing},
      {"Master.showScheduler", nothing},
      {"Master.backUp", nothing},
      {"Master.unknownBlocks", node},
      {"Master.discardUnknown", node},
      {"Master.forgetNodes", nothing},
      {"Master.explainWaits", nothing},
      {"Master.forgetPrograms", nothing},
      {"Master.status", nothing},
      {"Master.whoAmI", nothing},
      {"Master.mayGo", nothing},
      {"Master.backUpCopied", nothing},
      {"Master.maintainNodes", nothing},
      {"Master.changes", nothing},
      {"NameService.stat", path("/private/file")},
      {"NameService.list", path("/private")},
      {"NameService.locate", path("/private/file")},
      {"NameService.makeDirectory", new_path},
      {"NameService.remove", path("/private/file")},
      {"NameService.rename", rename},
      {"NameService.setReplication", path("/private/file")},
      {"NameService.measure", path("/private")},
      {"NameService.create", new_path},
      {"NameService.resume", resume},
      {"NameService.reportBadReplica", nothing},
      {"NameService.health", nothing},
      {"NameService.unhealthyBlocks", nothing},
      {"NameService.verify", path("/private/file")},
      {"NameService.awaitReports", nothing},
      {"NameService.balance", nothing},
      {"NameService.stopBalance", nothing},
      {"NameService.balanceStatus", nothing},
      {"NameService.setMode", mode},
      {"NameService.setOwner", group},
      {"NameService.trash", path("/private/file")},
      {"NameService.undelete", of_anns_trash},
      {"NameService.deletions", of_anns_trash},
      {"NameService.setQuota", nothing},
      {"NameService.quotas", path("/private/file")},
      {"NameService.time", nothing},
      {"FileLease.addBlock", nothing},
      {"FileLease.dropBlock", nothing},
      {"FileLease.complete", nothing},
      {"FileLease.abandon", nothing},
      {"FileLease.handOver", hand_over},
      {"FileLease.renew", nothing},
      {"FileLease.sync", nothing},
      {"WorkerSession.heartbeat", nothing},
      {"WorkerSession.reportBlocks", nothing},
      {"WorkerSession.endReport", nothing},
      {"WorkerSession.blocksReceived", nothing},
      {"WorkerSession.blocksDeleted", nothing},
      {"WorkerSession.blockCorrupt", nothing},
      {"WorkerSession.attemptDone", attempt_done},
      {"WorkerSession.attemptFailed", attempt},
      {"WorkerSession.fetchFailed", nothing},
      {"WorkerSession.reducePhase", attempt},
      {"WorkerSession.leave", nothing},
      {"WorkerSession.foretell", nothing},
      {"WorkerSession.archiveLogs", nothing},
      {"WorkerSession.offerTrash", nothing},
      {"JobService.submit", submit},
      {"JobService.status", job},
      {"JobService.list", nothing},
      {"JobService.watch", job},
      {"JobService.kill", job},
      {"JobService.setPriority", job},
      {"JobService.counters", job},
      {"JobService.attempts", job},
      {"JobService.readLog", attempt},
      {"JobService.history", job},
      {"JobService.mapLaunch", attempt},
      {"JobService.submitLater", submit},
      {"JobService.hold", job},
      {"JobService.release", job},
      {"JobService.foretell", nothing},
      {"JobService.why", job},
  };
  return asks;
}

class RightsTest : public testing::Test {
 protected:
  RightsTest() {
    OptionSet declared = DeclareMasterOptions(&config_);
    config_.startup_grace = 0;
    config_.audit_log = audit_;
    MILLRACE_CHECK(StoreClusterId(cluster_, store_.get()).ok(), "no cluster");
    auto control = Control::Make(
        config_, ControlDependencies{.timer = timer_,
                                     .clock = clock_,
                                     .store = *store_,
                                     .commit_log = *commit_log_,
                                     .random = Random(1),
                                     .block_numbers = [numbers = Random(2)]() mutable { return numbers.Next(); },
                                     .log = MakeSilentLog(),
                                     .token_key = tls::TokenKey(tls::TokenKey::MakeRandom()),
                                     .access_file = std::make_unique<TextFile>()});
    MILLRACE_CHECK(control.ok(), control.status().message());
    control_ = *std::move(control);
    server_.emplace(timer_, MakeMasterServices(*control_));
    server_->UseTls(authority_.Of("master"));
    rpc::Listening listening = rpc::Listen(io_.provider->getNetwork(), "127.0.0.1:0").wait(io_.waitScope);
    address_ = "127.0.0.1:" + std::to_string(listening.port);
    accepting_ = server_->AcceptLoop(kj::mv(listening.receiver)).eagerlyEvaluate(nullptr);
  }
  ~RightsTest() noexcept override {  // KJ's destructors may throw
    accepting_ = nullptr;
    server_.reset();
    io_.waitScope.poll();  // drops what the connections held before the master goes
  }

  // One peer of the master, and all that it can call.
  struct Peer {
    std::unique_ptr<rpc::TcpDialer> dialer;
    std::unique_ptr<rpc::Link> link;
    std::map<std::uint64_t, DynamicCapability::Client> reached;  // by interface
  };

  static Status Outcome(const kj::Exception& why) {
    MILLRACE_CHECK(!rpc::ConnectionBroke(why), "the connection broke: " + rpc::FromException(why).message());
    return rpc::FromException(why);
  }
  Peer Connect(const std::string& common_name) {
    const tls::PeerIdentity identity = tls::ParseIdentity(common_name).value();
    Peer peer;
    peer.dialer = std::make_unique<rpc::TcpDialer>(io_.provider->getNetwork(), authority_.OfAnybody(common_name));
    peer.link = std::make_unique<rpc::Link>(*peer.dialer, timer_, address_, Random(3));
    auto master = peer.link->ConnectOnce().wait(io_.waitScope).castAs<wire::Master>();
    Reach(&peer, master);
    auto asking = master.namesRequest();
    asking.setVersion(ThisRelease().version);
    asking.setProtocol(ThisRelease().protocol);
    auto names = asking.send().wait(io_.waitScope).getService();
    Reach(&peer, names);
    if (identity.role == Role::kClient) Reach(&peer, master.jobsRequest().send().wait(io_.waitScope).getService());
    if (identity.role == Role::kClient || identity.role == Role::kTask) TakeLease(&peer, "/of " + common_name);
    if (identity.role == Role::kWorker) {
      Reach(&peer, Register(master));
      TakeLease(&peer, NewArchive());
    }
    return peer;
  }
  template <class Interface>
  static void Reach(Peer* peer, Interface client) {
    const auto schema = capnp::Schema::from<typename Interface::Calls>();
    std::vector<std::uint64_t> interfaces = {schema.getProto().getId()};
    for (const auto base : schema.getSuperclasses()) interfaces.push_back(base.getProto().getId());
    for (const std::uint64_t interface : interfaces)
      peer->reached.insert_or_assign(interface, Interface(client));  // what is made of it takes it away
  }
  // Returns the path of the logs of a job of Ann's that has ended, on the node that has registered.
  std::string NewArchive(bool ended = true) {
    Step step = control_->steps().Begin();
    JobRequest request;
    request.name = "ended";
    request.owner = "ann";
    request.pool = "production";
    request.output = "/ended" + std::to_string(++archives_);
    request.split_by = SplitBy::kNumbers;
    request.maps = request.records = 1;
    const JobId job = control_->jobs().Submit(std::move(request), &step).value();
    if (ended) MILLRACE_CHECK(control_->jobs().Kill(job, "test", &step).ok(), "kill");
    control_->steps().FinishLazily(std::move(step));
    return dfs::PathOf({job, control_->nodes().all().begin()->first});
  }
  // Begins to write a file of the peer's own.
  void TakeLease(Peer* peer, const std::string& path) {
    const auto names = capnp::Schema::from<dfs::wire::NameService>();
    auto create = peer->reached.at(names.getProto().getId()).castAs<dfs::wire::NameService>().createRequest();
    create.setPath(Path(path.c_str()));
    Reach(peer, create.send().wait(io_.waitScope).getLease());
  }
  wire::WorkerSession::Client Register(wire::Master::Client master) {
    auto request = master.registerRequest();
    auto info = request.initWorker();
    info.setStorage("storage");
    info.setHost("127.0.0.1");
    info.setPort(1);
    info.setRack("r");
    info.setDatacenter("d");
    info.setCluster(cluster_);
    info.setVersion(ThisRelease().version);
    info.setProtocol(ThisRelease().protocol);
    request.setControl(kj::heap<NoControl>());
    return request.send().wait(io_.waitScope).getSession();
  }

  // Makes what the calls are about again, as far as it has gone.
  void Prepare(Subjects* subjects) {
    ++subjects->number;
    Step step = control_->steps().Begin();
    dfs::CreateOptions options;
    options.owner = "ann";
    const auto file = control_->files().Create("/private/file", options, step.now, &step.batch);
    if (file.ok()) {
      MILLRACE_CHECK(control_->files().Complete(*file, {}, {}, step.now, &step.batch).ok(), "an empty file");
    }
    control_->steps().FinishLazily(std::move(step));
  }
  void MakeAnns(Subjects* subjects) {
    Step step = control_->steps().Begin();
    MILLRACE_CHECK(control_->files().MakeDirectory("/private", "ann", step.now, &step.batch, 0700).ok(), "/private");
    dfs::CreateOptions options;
    options.owner = "ann";
    MILLRACE_CHECK(control_->files().Touch("/private/gone", "ann", step.now, &step.batch).ok(), "a file");
    const auto gone = control_->files().Trash("/private/gone", false, "ann", step.now, &step.batch);
    MILLRACE_CHECK(gone.ok(), "the trash");
    subjects->file = control_->files().Create("/open", options, step.now, &step.batch).value();
    JobRequest request;
    request.name = "job";
    request.owner = "ann";
    request.pool = "production";
    request.output = "/out";
    request.split_by = SplitBy::kNumbers;
    request.maps = request.records = 1;
    subjects->job = control_->jobs().Submit(std::move(request), &step).value().value;
    control_->steps().FinishLazily(std::move(step));
  }

  Status Make(Peer& peer, const SchemaWalk::Call& call, const Subjects& subjects) {
    const auto at = peer.reached.find(call.interface);
    MILLRACE_CHECK(at != peer.reached.end(), call.name);
    auto request = at->second.newRequest(call.schema);
    Asks().at(call.name)(request, subjects);
    auto made = call.schema.isStreaming() ? request.sendStreaming() : kj::Promise<void>(request.send().ignoreResult());
    return made.then([] { return Status::Ok(); }, [](kj::Exception&& why) { return Outcome(why); }).wait(io_.waitScope);
  }

  const tls::TestAuthority authority_;
  const TempDir directory_ = std::move(*TempDir::Make("rights"));
  const std::string audit_ = directory_.path() + "/audit.log";
  const std::string cluster_ = FormatClusterId(1, 2);
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::Timer& timer_ = io_.provider->getTimer();
  const DrivenClock clock_{kSecond};
  MasterConfig config_;
  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<rpc::CommitLog> commit_log_ =
      rpc::MakeInlineCommitLog(*store_, [](const Status& failure) { FAIL() << failure.message(); });
  std::unique_ptr<Control> control_;
  std::optional<rpc::Server> server_;
  std::string address_;
  kj::Promise<void> accepting_ = nullptr;
  int archives_ = 0;
};

// The rules once more, apart from the code that enforces them: who of these may make a call whose role is right.
bool HasRight(Besides right, const std::string& caller) {
  const bool administrator = caller == "client:admin";
  const bool of_ann = caller == "client:ann" || caller == "task:ann";
  switch (right) {
    case Besides::kNothing:
    case Besides::kSession:  // its own
      return true;
    case Besides::kAdministrator:
      return administrator;
    case Besides::kPath:
      return administrator || of_ann || caller == "worker:w1";
    case Besides::kLease:
      return administrator || of_ann;
    case Besides::kSubmit:
    case Besides::kJob:
      return administrator || of_ann || caller == "client:carl";
    case Besides::kOwnJob:
      return administrator || of_ann;
  }
  return false;
}

// A lease that somebody holds is his own, and what is asked by it is allowed; but a file is handed over to a job of its
// owner alone, and here it is to Ann's.
Besides BesidesOf(const std::string& call, const CallRights::Right& right, bool worker) {
  if (call == "FileLease.handOver") return Besides::kOwnJob;
  if (call == "NameService.create" && worker) return Besides::kLease;  // no file but its archives of logs
  return call.starts_with("FileLease.") ? Besides::kSession : right.besides;
}

TEST_F(RightsTest, EveryCallIsRefusedOrAllowedAsTheTableSays) {
  const CallRights rights;
  const SchemaWalk walk(capnp::Schema::from<wire::Master>(), SchemaWalk::Through::kResults);
  Subjects subjects;
  MakeAnns(&subjects);
  std::size_t made = 0, refused = 0;
  for (const std::string& caller : kCallers) {
    Peer peer = Connect(caller);
    const Role role = tls::ParseIdentity(caller).value().role;
    for (const SchemaWalk::Call& call : walk.calls) {
      ASSERT_TRUE(Asks().contains(call.name)) << call.name << " is new: say above what it is asked with";
      const CallRights::Right& right = *rights.Find(call.interface, call.method);
      const bool has_role = std::ranges::find(right.roles, role) != right.roles.end();
      if (!peer.reached.contains(call.interface)) {
        EXPECT_FALSE(has_role) << call.name << " is not reached by " << caller;
        continue;
      }
      const bool allowed = has_role && HasRight(BesidesOf(call.name, right, role == Role::kWorker), caller);
      Prepare(&subjects);
      if (call.name.starts_with("FileLease."))
        TakeLease(&peer, role == Role::kWorker ? NewArchive() : "/own" + std::to_string(subjects.number));
      const Status outcome = Make(peer, call, subjects);
      ++made;
      if (outcome.code() == StatusCode::kDenied) ++refused;
      EXPECT_EQ(outcome.code() != StatusCode::kDenied, allowed)
          << call.name << " by " << caller << ": " << outcome.message();
      const bool served = call.name != "Master.unused";  // which no master serves any more
      EXPECT_EQ(outcome.code() == StatusCode::kInternal, !served && allowed) << call.name << ": " << outcome.message();
    }
  }
  EXPECT_GT(made, 300u);
  RecordProperty("calls", static_cast<int>(made));
  RecordProperty("refused", static_cast<int>(refused));
  // Each refusal is in the audit log.
  const std::string audit = ReadWholeFile(audit_).value();
  std::size_t told = 0;
  for (std::size_t at = 0; (at = audit.find(" denied ", at)) != std::string::npos; ++at) ++told;
  EXPECT_EQ(told, refused);
}

// A worker writes the logs of its own node and of jobs that have ended, and nobody else writes there.
TEST_F(RightsTest, OnlyTheWorkerOfTheNodeArchivesLogs) {
  Peer worker = Connect("worker:w1");
  const std::string ended = NewArchive(), live = NewArchive(false), mine = NewArchive();
  const auto names = capnp::Schema::from<dfs::wire::NameService>().getProto().getId();
  const auto create = [&](Peer& peer, const std::string& path) {
    auto request = peer.reached.at(names).castAs<dfs::wire::NameService>().createRequest();
    request.setPath(Path(path.c_str()));
    request.setOwner("bob");
    request.setMode(0777);
    return request.send()
        .then([&peer](auto&& answer) -> kj::Promise<void> {
          auto completing = answer.getLease().completeRequest();
          return completing.send().ignoreResult();
        })
        .then([] { return Status::Ok(); }, [](kj::Exception&& why) { return Outcome(why); })
        .wait(io_.waitScope);
  };
  const Status made = create(worker, ended);
  ASSERT_TRUE(made.ok()) << made.message();
  const Result<dfs::FileStatus> file = control_->files().names().Stat(ended);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->owner, "ann");
  EXPECT_EQ(file->mode, dfs::kJobLogsMode);
  EXPECT_TRUE(create(worker, ended).ok()) << "once more, after it was killed";
  const std::string directory(dfs::ParentPath(ended));
  EXPECT_EQ(control_->files().names().Stat(directory)->owner, "");
  for (const std::string& path : {live, directory + "/node99", directory + "/other", ended + "/x", directory,
                                  std::string("/.millrace/logs/job999/node1"), std::string("/.millrace/logs/x"),
                                  std::string("/.millrace/executables/x"), std::string("/private/x")})
    EXPECT_EQ(create(worker, path).code(), StatusCode::kDenied) << path;
  for (const char* caller : {"client:ann", "client:bob", "client:admin", "task:ann"}) {
    Peer peer = Connect(caller);
    EXPECT_EQ(create(peer, mine).code(), StatusCode::kDenied) << caller;
    EXPECT_EQ(create(peer, directory + "/x").code(), StatusCode::kDenied) << caller;
  }
  const auto may_read = [&](const char* user, std::set<std::string, std::less<>> groups) {
    return control_->files().names().Check(dfs::Wish::kRead, ended, {.user = user, .groups = std::move(groups)}).ok();
  };
  EXPECT_TRUE(may_read("ann", {}));
  EXPECT_FALSE(may_read("bob", {"analysts"}));
  EXPECT_FALSE(control_->files().names().Check(dfs::Wish::kRemove, ended, {.user = "ann", .groups = {}}).ok());
}

// What the master calls is given to it by workers and clients; nobody is given it by the master.
TEST_F(RightsTest, NobodyReachesWhatIsServedToTheMaster) {
  std::set<std::string> reached, all;
  const auto interface = [](const std::string& call) { return call.substr(0, call.find('.')); };
  const auto from = capnp::Schema::from<wire::Master>();
  for (const auto& call : SchemaWalk(from).calls) all.insert(interface(call.name));
  for (const auto& call : SchemaWalk(from, SchemaWalk::Through::kResults).calls) reached.insert(interface(call.name));
  for (const std::string& name : reached) all.erase(name);
  EXPECT_THAT(all, testing::ElementsAre("JobWatcher", "WorkerControl"));
}

TEST_F(RightsTest, BlocksThatLackReplicasAreToldToThoseWhoMayReadThem) {
  Subjects subjects;
  MakeAnns(&subjects);
  Peer worker = Connect("worker:w1");
  Step step = control_->steps().Begin();
  dfs::CreateOptions options;
  options.owner = "ann";
  options.replication = 1;
  options.mode = 0600;
  const auto file = control_->files().Create("/thin", options, step.now, &step.batch);
  control_->files().blocks().NodeSpace(control_->nodes().all().begin()->first, std::uint64_t{1} << 40);
  const auto block = control_->files().AddBlock(*file, {}, {}, &step.batch);
  ASSERT_TRUE(block.ok()) << block.status().message();
  const std::vector<dfs::WrittenBlock> written = {{block->id, 100, block->targets, 5}};
  ASSERT_TRUE(control_->files().Complete(*file, {}, written, step.now, &step.batch).ok());
  control_->files().blocks().Deleted(block->targets[0], block->id);
  control_->steps().FinishLazily(std::move(step));
  for (const auto& [caller, told] :
       {std::pair("client:bob", 0u), std::pair("client:ann", 1u), std::pair("client:admin", 1u)}) {
    Peer peer = Connect(caller);
    const auto names = capnp::Schema::from<dfs::wire::NameService>().getProto().getId();
    auto answer =
        peer.reached.at(names).castAs<dfs::wire::NameService>().unhealthyBlocksRequest().send().wait(io_.waitScope);
    EXPECT_EQ(answer.getBlocks().size(), told) << caller;
    EXPECT_FALSE(answer.getMore()) << caller;
  }
}

TEST_F(RightsTest, WithoutACertificateOfTheClusterNoCallIsMade) {
  const tls::TestAuthority other;
  tls::CredentialTexts foreign = other.TextsOf("client:admin");
  foreign.authorities = authority_.pair.certificate;
  const auto master = capnp::Schema::from<wire::Master>();
  for (const auto& credentials : {std::shared_ptr<tls::Credentials>(), tls::Credentials::From(foreign).value()}) {
    for (const SchemaWalk::Call& call : SchemaWalk(master, SchemaWalk::Through::kResults).calls) {
      if (!master.extends(call.schema.getContainingInterface())) continue;  // what is reached through these
      rpc::TcpDialer dialer(io_.provider->getNetwork(), credentials);
      rpc::Link link(dialer, timer_, address_, Random(3));
      const Status outcome =
          link.ConnectOnce()
              .then([&](capnp::Capability::Client client) {
                DynamicCapability::Client dynamic = client.castAs<wire::Master>();
                return dynamic.newRequest(call.schema).send().ignoreResult();
              })
              .then([] { return Status::Ok(); }, [](kj::Exception&& why) { return rpc::FromException(why); })
              .wait(io_.waitScope);
      EXPECT_EQ(outcome.code(), StatusCode::kInvalid) << call.name << ": " << outcome.message();
    }
  }
}

}  // namespace
}  // namespace millrace::master
