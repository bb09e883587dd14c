// SPDX-License-Identifier: Apache-2.0
#include "base/protocol/call_rights.h"

#include <capnp/membrane.h>
#include <capnp/schema.h>

#include <algorithm>
#include <initializer_list>

#include "base/protocol/master.capnp.h"
#include "base/protocol/name.capnp.h"
#include "base/protocol/worker.capnp.h"
#include "base/rpc/status_codec.h"

namespace millrace {
namespace {

using tls::Role;
using Roles = std::vector<Role>;

const Roles kMaster = {Role::kMaster};
const Roles kWorker = {Role::kWorker};
const Roles kClient = {Role::kClient};
const Roles kClientsAndWorkers = {Role::kClient, Role::kWorker};
const Roles kWriters = {Role::kClient, Role::kTask};                           // who writes files
const Roles kWritersAndWorkers = {Role::kClient, Role::kTask, Role::kWorker};  // a worker writes archives of logs
const Roles kReaders = {Role::kClient, Role::kTask, Role::kWorker};            // a worker reads executables of jobs

const std::string kUnknownCall = "an unknown call";

class Guard final : public capnp::MembranePolicy, public kj::Refcounted {
 public:
  Guard(tls::PeerIdentity peer, std::shared_ptr<const CallRights> rights, CallJudge judge)
      : peer_(std::move(peer)), rights_(std::move(rights)), judge_(std::move(judge)) {}

  // A call that is refused goes to a capability that rejects it; an exception here would end the connection.
  kj::Maybe<capnp::Capability::Client> inboundCall(std::uint64_t interface, std::uint16_t method,
                                                   capnp::Capability::Client) override {
    const CallRights::Right* right = rights_->Find(interface, method);
    Status allowed = rights_->Check(peer_, interface, method);
    if (allowed.ok() && right->besides == Besides::kAdministrator) allowed = judge_.check_administers(right->call);
    if (allowed.ok()) return nullptr;
    judge_.refused(right == nullptr ? kUnknownCall : right->call, allowed);
    return capnp::Capability::Client(rpc::ToException(allowed));
  }
  kj::Maybe<capnp::Capability::Client> outboundCall(std::uint64_t, std::uint16_t, capnp::Capability::Client) override {
    return nullptr;
  }
  bool shouldResolveBeforeRedirecting() override { return false; }
  kj::Own<capnp::MembranePolicy> addRef() override { return kj::addRef(*this); }

 private:
  const tls::PeerIdentity peer_;
  const std::shared_ptr<const CallRights> rights_;
  const CallJudge judge_;
};

}  // namespace

std::string_view InWords(Besides right) {
  switch (right) {
    case Besides::kNothing:
      return "";
    case Besides::kAdministrator:
      return "administrator";
    case Besides::kPath:
      return "mode of the path";
    case Besides::kLease:
      return "own lease";
    case Besides::kSubmit:
      return "submit to the pool";
    case Besides::kJob:
      return "job";
    case Besides::kOwnJob:
      return "own job";
    case Besides::kSession:
      return "own session";
  }
  return "?";
}

class RightsTable {
 public:
  struct Row {
    const char* method;
    const Roles& roles;
    Besides besides = Besides::kNothing;
  };

  explicit RightsTable(CallRights& rights) : rights_(rights) {}

  template <class Interface>
  void Add(std::initializer_list<Row> rows) {
    const capnp::InterfaceSchema schema = capnp::Schema::from<Interface>();
    for (const Row& row : rows) {
      const auto method = schema.getMethodByName(row.method);
      rights_.places_[{schema.getProto().getId(), method.getIndex()}] = rights_.rights_.size();
      rights_.rights_.push_back(
          {std::string(schema.getShortDisplayName().cStr()) + "." + row.method, row.roles, row.besides});
    }
  }

 private:
  CallRights& rights_;
};

CallRights::CallRights() {
  RightsTable table(*this);
  table.Add<dfs::wire::NameProvider>({{"names", kReaders}});
  table.Add<master::wire::Master>({
      {"jobs", kClient},
      {"register", kWorker},
      {"nodes", kClientsAndWorkers},  // a worker lets its tasks reach the others
      {"drainNode", kClient, Besides::kAdministrator},
      {"version", kReaders},
      {"unused", kClient},
      {"setScheduler", kClient, Besides::kAdministrator},
      {"showScheduler", kClient},
      {"backUp", kClient, Besides::kAdministrator},
      {"unknownBlocks", kClient, Besides::kAdministrator},
      {"discardUnknown", kClient, Besides::kAdministrator},
      {"forgetNodes", kClient, Besides::kAdministrator},
      {"explainWaits", kClient},
      {"forgetPrograms", kClient, Besides::kAdministrator},
      {"status", kClient},
      {"whoAmI", kClient},
      {"mayGo", kClient, Besides::kAdministrator},
      {"backUpCopied", kClient, Besides::kAdministrator},
      {"maintainNodes", kClient, Besides::kAdministrator},
      {"changes", kClient},
  });
  table.Add<dfs::wire::NameService>({
      {"stat", kReaders, Besides::kPath},
      {"list", kReaders, Besides::kPath},
      {"locate", kReaders, Besides::kPath},
      {"makeDirectory", kWriters, Besides::kPath},
      {"remove", kWriters, Besides::kPath},
      {"rename", kWriters, Besides::kPath},
      {"setReplication", kClient, Besides::kPath},
      {"measure", kReaders, Besides::kPath},
      {"create", kWritersAndWorkers, Besides::kPath},
      {"resume", kWritersAndWorkers, Besides::kLease},
      {"reportBadReplica", kReaders},
      {"health", kClient},
      {"unhealthyBlocks", kClient},
      {"verify", kClient, Besides::kPath},
      {"awaitReports", kReaders},
      {"balance", kClient, Besides::kAdministrator},
      {"stopBalance", kClient, Besides::kAdministrator},
      {"balanceStatus", kClient},
      {"setMode", kClient, Besides::kPath},
      {"setOwner", kClient, Besides::kPath},
      {"trash", kClient, Besides::kPath},
      {"undelete", kClient, Besides::kPath},
      {"deletions", kClient, Besides::kPath},
      {"setQuota", kClient, Besides::kAdministrator},
      {"quotas", kClient, Besides::kPath},
      {"time", kClient},
  });
  table.Add<dfs::wire::FileLease>({
      {"addBlock", kWritersAndWorkers, Besides::kLease},
      {"dropBlock", kWritersAndWorkers, Besides::kLease},
      {"complete", kWritersAndWorkers, Besides::kLease},
      {"abandon", kWritersAndWorkers, Besides::kLease},
      {"handOver", kWriters, Besides::kLease},
      {"renew", kWritersAndWorkers, Besides::kLease},
      {"sync", kWriters, Besides::kLease},
  });
  table.Add<master::wire::WorkerSession>({
      {"heartbeat", kWorker, Besides::kSession},
      {"reportBlocks", kWorker, Besides::kSession},
      {"endReport", kWorker, Besides::kSession},
      {"blocksReceived", kWorker, Besides::kSession},
      {"blocksDeleted", kWorker, Besides::kSession},
      {"blockCorrupt", kWorker, Besides::kSession},
      {"attemptDone", kWorker, Besides::kSession},
      {"attemptFailed", kWorker, Besides::kSession},
      {"fetchFailed", kWorker, Besides::kSession},
      {"reducePhase", kWorker, Besides::kSession},
      {"leave", kWorker, Besides::kSession},
      {"offerTrash", kWorker, Besides::kSession},
      {"foretell", kWorker, Besides::kSession},
      {"archiveLogs", kWorker, Besides::kSession},
  });
  table.Add<master::wire::JobService>({
      {"submit", kClient, Besides::kSubmit},
      {"status", kClient},
      {"list", kClient},
      {"watch", kClient},
      {"kill", kClient, Besides::kJob},
      {"setPriority", kClient, Besides::kJob},
      {"counters", kClient},
      {"attempts", kClient},
      {"readLog", kClient, Besides::kJob},
      {"history", kClient},
      {"mapLaunch", kClient, Besides::kOwnJob},
      {"submitLater", kClient, Besides::kSubmit},
      {"hold", kClient, Besides::kJob},
      {"release", kClient, Besides::kJob},
      {"foretell", kClient},
      {"why", kClient},
  });
  // These two are served to the master. A worker or client speaks with no other peer (rpc::TcpDialer), so that nothing
  // else guards them.
  table.Add<worker::wire::WorkerControl>({
      {"setUpJob", kMaster},
      {"launchMap", kMaster},
      {"launchReduce", kMaster},
      {"mapOutputs", kMaster},
      {"kill", kMaster},
      {"forgetJob", kMaster},
      {"replicate", kMaster},
      {"deleteBlocks", kMaster},
      {"readLog", kMaster},
      {"verifyBlock", kMaster},
      {"ping", kMaster},
      {"compute", kMaster},
      {"copyOutput", kMaster},
      {"allowWrite", kMaster},
  });
  table.Add<master::wire::JobWatcher>({{"changed", kMaster}});
}

Status CallRights::Check(const tls::PeerIdentity& peer, std::uint64_t interface, std::uint16_t method) const {
  if (peer.role == Role::kAnyone) return Status::Ok();
  const Right* found = Find(interface, method);
  if (found == nullptr) return Invalid(std::string(rpc::kUnknownCall) + ", of " + ToText(peer));
  const Right& right = *found;
  if (std::ranges::find(right.roles, peer.role) != right.roles.end()) return Status::Ok();
  std::string whose;
  for (const Role role : right.roles) whose += (whose.empty() ? "a " : " or a ") + std::string(NameOf(role));
  return Denied(right.call + " is refused: it needs the certificate of " + whose + ", and this is that of " +
                ToText(peer));
}

const CallRights::Right* CallRights::Find(std::uint64_t interface, std::uint16_t method) const {
  const auto found = places_.find({interface, method});
  return found == places_.end() ? nullptr : &rights_[found->second];
}

bool CallRights::Has(std::uint64_t interface, std::uint16_t method) const {
  return places_.contains({interface, method});
}

std::vector<CallRights::Right> CallRights::List() const { return rights_; }

capnp::Capability::Client Guarded(capnp::Capability::Client served, const tls::PeerIdentity& peer,
                                  std::shared_ptr<const CallRights> rights, CallJudge judge) {
  if (peer.role == Role::kAnyone) return served;
  return capnp::membrane(kj::mv(served), kj::refcounted<Guard>(peer, std::move(rights), std::move(judge)));
}

}  // namespace millrace
