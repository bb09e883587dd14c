// SPDX-License-Identifier: Apache-2.0
// Tests the table of calls against the schemas, and that it is in force for all that a peer reaches.
#include "base/protocol/call_rights.h"

#include <capnp/schema.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/protocol/master.capnp.h"
#include "base/rpc/status_codec.h"
#include "tests/base/protocol/schema_walk.h"
#include "tests/base/rpc_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using tls::PeerIdentity;
using tls::Role;

TEST(CallRights, HasEveryCallOfTheSchemas) {
  const CallRights rights;
  const SchemaWalk walk(capnp::Schema::from<master::wire::Master>());
  ASSERT_GT(walk.calls.size(), 60u);
  for (const SchemaWalk::Call& call : walk.calls) EXPECT_TRUE(rights.Has(call.interface, call.method)) << call.name;
  EXPECT_EQ(rights.List().size(), walk.calls.size());
}

TEST(CallRights, AreNeededForEachCallByEachRole) {
  const CallRights rights;
  std::map<std::string, std::vector<Role>> allowed;
  for (const auto& right : rights.List()) allowed[right.call] = right.roles;
  for (const SchemaWalk::Call& call : SchemaWalk(capnp::Schema::from<master::wire::Master>()).calls) {
    for (const Role role : {Role::kMaster, Role::kWorker, Role::kTask, Role::kClient}) {
      const bool may = std::ranges::find(allowed[call.name], role) != allowed[call.name].end();
      const Status checked = rights.Check({role, "x"}, call.interface, call.method);
      EXPECT_EQ(checked.ok(), may) << call.name << " by " << NameOf(role);
      EXPECT_EQ(checked.message().starts_with(call.name + " is refused"), !may) << checked.message();
      EXPECT_EQ(checked.code(), may ? StatusCode::kOk : StatusCode::kDenied);
    }
    EXPECT_TRUE(rights.Check({}, call.interface, call.method).ok()) << "without TLS";
  }
  EXPECT_EQ(rights.Check({Role::kClient, "x"}, 0x1234, 0).code(), StatusCode::kInvalid);
  EXPECT_TRUE(rpc::IsUnknownCall(rpc::ToException(rights.Check({Role::kClient, "x"}, 0x1234, 0))));
  EXPECT_EQ(rights.Find(0x1234, 0), nullptr);
}

// Rules that must hold whatever else the table says.
TEST(CallRights, KeepWorkersTasksAndClientsApart) {
  for (const auto& right : CallRights().List()) {
    const auto may = [&right](Role role) { return std::ranges::find(right.roles, role) != right.roles.end(); };
    const bool of_workers = right.call.starts_with("WorkerSession.") || right.call == "Master.register";
    const bool of_master = right.call.starts_with("WorkerControl.") || right.call.starts_with("JobWatcher.");
    const bool of_jobs = right.call.starts_with("JobService.") || right.call == "Master.jobs";
    EXPECT_EQ(right.roles == std::vector{Role::kWorker}, of_workers) << right.call;
    EXPECT_EQ(may(Role::kMaster), of_master) << right.call;
    EXPECT_EQ(may(Role::kClient), !of_workers && !of_master) << right.call;
    EXPECT_FALSE(of_jobs && (may(Role::kTask) || may(Role::kWorker))) << right.call;
    EXPECT_FALSE(right.call.starts_with("Master.") && right.call != "Master.version" && may(Role::kTask)) << right.call;
  }
}

// A call that changes the whole cluster is for administrators, and what is somebody's takes a right on it.
TEST(CallRights, TakeARightBesidesForWhatIsSomebodys) {
  std::set<std::string> administrators, open;
  for (const auto& right : CallRights().List()) {
    if (right.besides == Besides::kAdministrator) {
      administrators.insert(right.call);
      EXPECT_EQ(right.roles, std::vector{Role::kClient}) << right.call;
    }
    if (right.besides == Besides::kNothing && right.roles != std::vector{Role::kMaster}) open.insert(right.call);
    EXPECT_EQ(right.besides == Besides::kSession, right.call.starts_with("WorkerSession.")) << right.call;
    EXPECT_EQ(right.besides == Besides::kLease,
              right.call.starts_with("FileLease.") || right.call == "NameService.resume")
        << right.call;
  }
  EXPECT_THAT(administrators,
              testing::ElementsAre("Master.backUp", "Master.backUpCopied", "Master.discardUnknown", "Master.drainNode",
                                   "Master.forgetNodes", "Master.forgetPrograms", "Master.maintainNodes",
                                   "Master.mayGo", "Master.setScheduler", "Master.unknownBlocks", "NameService.balance",
                                   "NameService.setQuota", "NameService.stopBalance"));
  for (const std::string& call : open) {
    EXPECT_THAT(call.substr(call.find('.') + 1),
                testing::Not(testing::MatchesRegex("(set|remove|rename|create|kill).*")));
  }
}

TEST(CallRights, AreOnThePageOfSecurity) {
  std::string table = "| call | who may make it | and the right |\n|---|---|---|\n";
  for (const auto& right : CallRights().List()) {
    std::string roles;
    for (const Role role : right.roles) roles += (roles.empty() ? "" : ", ") + std::string(NameOf(role));
    table += "| `" + right.call + "` | " + roles + " | " + std::string(InWords(right.besides)) + " |\n";
  }
  const Result<std::string> page = ReadWholeFile(MILLRACE_SECURITY_PAGE);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, HasSubstr(table));
}

class MasterStub final : public master::wire::Master::Server {
 public:
  kj::Promise<void> version(VersionContext) override { return kj::READY_NOW; }
  kj::Promise<void> drainNode(DrainNodeContext) override { return kj::READY_NOW; }
  kj::Promise<void> register_(RegisterContext context) override {
    context.getResults().setSession(kj::heap<SessionStub>());
    return kj::READY_NOW;
  }
  kj::Promise<void> names(NamesContext context) override {
    context.getResults().setService(kj::heap<NamesStub>());
    return kj::READY_NOW;
  }

 private:
  class SessionStub final : public master::wire::WorkerSession::Server {
    kj::Promise<void> heartbeat(HeartbeatContext) override { return kj::READY_NOW; }
  };
  class NamesStub final : public dfs::wire::NameService::Server {
    kj::Promise<void> stat(StatContext) override { return kj::READY_NOW; }
    kj::Promise<void> setReplication(SetReplicationContext) override { return kj::READY_NOW; }
  };
};

TEST(Guarded, HoldsForWhatAPeerReaches) {
  rpc::DrivenLoop loop;
  const auto rights = std::make_shared<const CallRights>();
  bool administers = false;
  std::vector<std::string> refused;
  const auto master_for = [&](const PeerIdentity& peer) {
    return Guarded(
               kj::heap<MasterStub>(), peer, rights,
               {[&](const std::string& call) { return administers ? Status::Ok() : Denied(call + ": no"); },
                [&](const std::string& call, const Status& why) { refused.push_back(call + ": " + why.message()); }})
        .castAs<master::wire::Master>();
  };
  const auto outcome = [&loop](auto promise) { return rpc::Outcome(kj::mv(promise), loop.scope); };

  master::wire::Master::Client worker = master_for({Role::kWorker, "w1"});
  auto session = worker.registerRequest().send().getSession();
  EXPECT_TRUE(outcome(session.heartbeatRequest().send()).ok());
  EXPECT_FALSE(outcome(worker.jobsRequest().send()).ok());

  master::wire::Master::Client task = master_for({Role::kTask, "ann"});
  EXPECT_TRUE(outcome(task.versionRequest().send()).ok());
  const Status denied = outcome(task.registerRequest().send());
  EXPECT_EQ(denied.code(), StatusCode::kDenied);
  EXPECT_EQ(denied.message(),
            "Master.register is refused: it needs the certificate of a worker, and this is that of task:ann");
  auto names = task.namesRequest().send().getService();
  EXPECT_TRUE(outcome(names.statRequest().send()).ok());
  EXPECT_THAT(outcome(names.setReplicationRequest().send()).message(),
              HasSubstr("NameService.setReplication is refused"));
  EXPECT_TRUE(outcome(names.statRequest().send()).ok()) << "a refusal ends nothing";

  refused.clear();
  master::wire::Master::Client client = master_for({Role::kClient, "ann"});
  EXPECT_EQ(outcome(client.drainNodeRequest().send()).message(), "Master.drainNode: no");
  EXPECT_THAT(refused, testing::ElementsAre("Master.drainNode: Master.drainNode: no"));
  administers = true;  // from now on, while the connection stands
  EXPECT_TRUE(outcome(client.drainNodeRequest().send()).ok());
  EXPECT_EQ(refused.size(), 1u);
}

}  // namespace
}  // namespace millrace
