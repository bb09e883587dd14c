// Which role may make which call: one table for all interfaces of the schemas beside it, so that a call that is added
// there and not here fails a test. Guarded puts it in force for a connection, for what the peer is given at first and
// all that it reaches from there. Without TLS everybody is anyone, and may make every call.
//
// It says nothing of whose the files and jobs are that a call is about; the services do.
// Thread rule: as a value; Guarded: the control thread.
#pragma once

#include <capnp/capability.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace {

class CallRights {
 public:
  CallRights();

  // Returns OK if a peer may make the call, by the numbers of interface and method as they travel. Returns kInvalid,
  // with the call and the peer, if not; nobody but anyone may make a call that is not in the table.
  [[nodiscard]] Status Check(const tls::PeerIdentity& peer, std::uint64_t interface, std::uint16_t method) const;
  [[nodiscard]] bool Has(std::uint64_t interface, std::uint16_t method) const;

  struct Right {
    std::string call;              // "Master.register"
    std::vector<tls::Role> roles;  // that may make it
  };
  [[nodiscard]] std::vector<Right> List() const;  // in the order of the table

 private:
  friend class RightsTable;
  std::vector<Right> rights_;
  std::map<std::pair<std::uint64_t, std::uint16_t>, std::size_t> places_;
};

// Returns a capability that lets through the calls that the peer may make; `served` itself for anyone.
[[nodiscard]] capnp::Capability::Client Guarded(capnp::Capability::Client served, const tls::PeerIdentity& peer,
                                                std::shared_ptr<const CallRights> rights);

}  // namespace millrace
