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
#include "tests/base/rpc_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using tls::PeerIdentity;
using tls::Role;

// Walks from an interface to every interface that its calls, and what they carry, name.
class Walk {
 public:
  explicit Walk(capnp::InterfaceSchema from) { Visit(from); }
  struct Call {
    std::string name;
    std::uint64_t interface;
    std::uint16_t method;
  };
  std::vector<Call> calls;

 private:
  void Visit(capnp::InterfaceSchema interface) {
    if (!seen_.insert(interface.getProto().getId()).second) return;
    for (const auto base : interface.getSuperclasses()) Visit(base);
    for (const auto method : interface.getMethods()) {
      calls.push_back({std::string(interface.getShortDisplayName().cStr()) + "." + method.getProto().getName().cStr(),
                       interface.getProto().getId(), static_cast<std::uint16_t>(method.getIndex())});
      Visit(method.getParamType());
      if (!method.isStreaming()) Visit(method.getResultType());
    }
  }
  void Visit(capnp::StructSchema structure) {
    if (!seen_.insert(structure.getProto().getId()).second) return;
    for (const auto field : structure.getFields()) Visit(field.getType());
  }
  void Visit(capnp::Type type) {
    while (type.isList()) type = type.asList().getElementType();
    if (type.isStruct()) Visit(type.asStruct());
    if (type.isInterface()) Visit(type.asInterface());
  }

  std::set<std::uint64_t> seen_;
};

TEST(CallRights, HasEveryCallOfTheSchemas) {
  const CallRights rights;
  const Walk walk(capnp::Schema::from<master::wire::Master>());
  ASSERT_GT(walk.calls.size(), 60u);
  for (const Walk::Call& call : walk.calls) EXPECT_TRUE(rights.Has(call.interface, call.method)) << call.name;
  EXPECT_EQ(rights.List().size(), walk.calls.size());
}

TEST(CallRights, AreNeededForEachCallByEachRole) {
  const CallRights rights;
  std::map<std::string, std::vector<Role>> allowed;
  for (const auto& right : rights.List()) allowed[right.call] = right.roles;
  for (const Walk::Call& call : Walk(capnp::Schema::from<master::wire::Master>()).calls) {
    for (const Role role : {Role::kMaster, Role::kWorker, Role::kTask, Role::kClient}) {
      const bool may = std::ranges::find(allowed[call.name], role) != allowed[call.name].end();
      const Status checked = rights.Check({role, "x"}, call.interface, call.method);
      EXPECT_EQ(checked.ok(), may) << call.name << " by " << NameOf(role);
      EXPECT_EQ(checked.message().starts_with(call.name + " is refused"), !may) << checked.message();
    }
    EXPECT_TRUE(rights.Check({}, call.interface, call.method).ok()) << "without TLS";
  }
  EXPECT_FALSE(rights.Check({Role::kClient, "x"}, 0x1234, 0).ok());
}

// What must hold whatever the table says otherwise.
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

TEST(CallRights, AreOnThePageOfSecurity) {
  std::string table = "| call | who may make it |\n|---|---|\n";
  for (const auto& right : CallRights().List()) {
    std::string roles;
    for (const Role role : right.roles) roles += (roles.empty() ? "" : ", ") + std::string(NameOf(role));
    table += "| `" + right.call + "` | " + roles + " |\n";
  }
  const Result<std::string> page = ReadWholeFile(MILLRACE_SECURITY_PAGE);
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(*page, HasSubstr(table));
}

class MasterStub final : public master::wire::Master::Server {
 public:
  kj::Promise<void> version(VersionContext) override { return kj::READY_NOW; }
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
  const auto master_for = [&rights](const PeerIdentity& peer) {
    return Guarded(kj::heap<MasterStub>(), peer, rights).castAs<master::wire::Master>();
  };
  const auto outcome = [&loop](auto promise) { return rpc::Outcome(kj::mv(promise), loop.scope); };

  master::wire::Master::Client worker = master_for({Role::kWorker, "w1"});
  auto session = worker.registerRequest().send().getSession();
  EXPECT_TRUE(outcome(session.heartbeatRequest().send()).ok());
  EXPECT_FALSE(outcome(worker.jobsRequest().send()).ok());

  master::wire::Master::Client task = master_for({Role::kTask, "ann"});
  EXPECT_TRUE(outcome(task.versionRequest().send()).ok());
  const Status refused = outcome(task.registerRequest().send());
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_EQ(refused.message(),
            "Master.register is refused: it takes the certificate of a worker, and this one is that of task:ann");
  auto names = task.namesRequest().send().getService();
  EXPECT_TRUE(outcome(names.statRequest().send()).ok());
  EXPECT_THAT(outcome(names.setReplicationRequest().send()).message(),
              HasSubstr("NameService.setReplication is refused"));
  EXPECT_TRUE(outcome(names.statRequest().send()).ok()) << "a refusal ends nothing";
}

}  // namespace
}  // namespace millrace
