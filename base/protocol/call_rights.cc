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
const Roles kWriters = {Role::kClient, Role::kTask};                 // who writes files
const Roles kReaders = {Role::kClient, Role::kTask, Role::kWorker};  // a worker reads executables of jobs

class Guard final : public capnp::MembranePolicy, public kj::Refcounted {
 public:
  Guard(tls::PeerIdentity peer, std::shared_ptr<const CallRights> rights)
      : peer_(std::move(peer)), rights_(std::move(rights)) {}

  // A call that is refused goes to a capability that rejects it; an exception here would end the connection.
  kj::Maybe<capnp::Capability::Client> inboundCall(std::uint64_t interface, std::uint16_t method,
                                                   capnp::Capability::Client) override {
    const Status allowed = rights_->Check(peer_, interface, method);
    if (allowed.ok()) return nullptr;
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
};

}  // namespace

class RightsTable {
 public:
  struct Row {
    const char* method;
    const Roles& roles;
  };

  explicit RightsTable(CallRights& rights) : rights_(rights) {}

  template <class Interface>
  void Add(std::initializer_list<Row> rows) {
    const capnp::InterfaceSchema schema = capnp::Schema::from<Interface>();
    for (const Row& row : rows) {
      const auto method = schema.getMethodByName(row.method);
      rights_.places_[{schema.getProto().getId(), method.getIndex()}] = rights_.rights_.size();
      rights_.rights_.push_back({std::string(schema.getShortDisplayName().cStr()) + "." + row.method, row.roles});
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
      {"drainNode", kClient},
      {"version", kReaders},
      {"unused", kClient},
      {"setScheduler", kClient},
      {"showScheduler", kClient},
      {"backUp", kClient},
      {"unknownBlocks", kClient},
      {"discardUnknown", kClient},
      {"forgetNodes", kClient},
      {"explainWaits", kClient},
      {"forgetPrograms", kClient},
      {"status", kClient},
  });
  table.Add<dfs::wire::NameService>({
      {"stat", kReaders},
      {"list", kReaders},
      {"locate", kReaders},
      {"makeDirectory", kWriters},
      {"remove", kWriters},
      {"rename", kWriters},
      {"setReplication", kClient},
      {"measure", kReaders},
      {"create", kWriters},
      {"resume", kWriters},
      {"reportBadReplica", kReaders},
      {"health", kClient},
      {"unhealthyBlocks", kClient},
      {"verify", kClient},
      {"awaitReports", kReaders},
      {"balance", kClient},
      {"stopBalance", kClient},
      {"balanceStatus", kClient},
  });
  table.Add<dfs::wire::FileLease>({
      {"addBlock", kWriters},
      {"dropBlock", kWriters},
      {"complete", kWriters},
      {"abandon", kWriters},
      {"handOver", kWriters},
      {"renew", kWriters},
      {"sync", kWriters},
  });
  table.Add<master::wire::WorkerSession>({
      {"heartbeat", kWorker},
      {"reportBlocks", kWorker},
      {"endReport", kWorker},
      {"blocksReceived", kWorker},
      {"blocksDeleted", kWorker},
      {"blockCorrupt", kWorker},
      {"attemptDone", kWorker},
      {"attemptFailed", kWorker},
      {"fetchFailed", kWorker},
      {"reducePhase", kWorker},
      {"leave", kWorker},
      {"offerTrash", kWorker},
      {"foretell", kWorker},
  });
  table.Add<master::wire::JobService>({
      {"submit", kClient},
      {"status", kClient},
      {"list", kClient},
      {"watch", kClient},
      {"kill", kClient},
      {"setPriority", kClient},
      {"counters", kClient},
      {"attempts", kClient},
      {"readLog", kClient},
      {"history", kClient},
      {"mapLaunch", kClient},
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
  });
  table.Add<master::wire::JobWatcher>({{"changed", kMaster}});
}

Status CallRights::Check(const tls::PeerIdentity& peer, std::uint64_t interface, std::uint16_t method) const {
  if (peer.role == Role::kAnyone) return Status::Ok();
  const auto found = places_.find({interface, method});
  if (found == places_.end()) return Invalid("a call that this version does not know, of " + ToText(peer));
  const Right& right = rights_[found->second];
  if (std::ranges::find(right.roles, peer.role) != right.roles.end()) return Status::Ok();
  std::string whose;
  for (const Role role : right.roles) whose += (whose.empty() ? "a " : " or a ") + std::string(NameOf(role));
  return Invalid(right.call + " is refused: it takes the certificate of " + whose + ", and this one is that of " +
                 ToText(peer));
}

bool CallRights::Has(std::uint64_t interface, std::uint16_t method) const {
  return places_.contains({interface, method});
}

std::vector<CallRights::Right> CallRights::List() const { return rights_; }

capnp::Capability::Client Guarded(capnp::Capability::Client served, const tls::PeerIdentity& peer,
                                  std::shared_ptr<const CallRights> rights) {
  if (peer.role == Role::kAnyone) return served;
  return capnp::membrane(kj::mv(served), kj::refcounted<Guard>(peer, std::move(rights)));
}

}  // namespace millrace
