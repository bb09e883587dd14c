// Who may make which call: one table for all interfaces of the schemas beside it, so that a call that is added there
// and not here fails a test. Each call takes one of some roles, and a right on what it is about besides. Guarded puts
// the roles and the right to administer in force for a connection, for what the peer is given at first and all that it
// reaches from there; the other rights are known to the services alone. Without TLS everybody is anyone, and may make
// every call.
// Thread rule: as a value; Guarded: the control thread.
#pragma once

#include <capnp/capability.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace {

// What a call takes besides the role.
enum class Besides : std::uint8_t {
  kNothing,
  kAdministrator,  // to be an administrator
  kPath,           // what the mode of the file, and of the directories above it, allows
  kLease,          // to have opened the file
  kSubmit,         // to be let into the pool
  kJob,            // to own the job, to administer its pool, or to be an administrator
  kOwnJob,         // to own the job, or to be an administrator
  kSession,        // to be the worker that has registered
};
[[nodiscard]] std::string_view InWords(Besides right);  // "administrator"; "" for nothing

class CallRights {
 public:
  CallRights();

  // Returns OK if a peer of this role may make the call, by the numbers of interface and method as they travel. Returns
  // kDenied, with the call and the peer, if not; kInvalid for a call that is not in the table, which nobody but anyone
  // may make.
  [[nodiscard]] Status Check(const tls::PeerIdentity& peer, std::uint64_t interface, std::uint16_t method) const;
  [[nodiscard]] bool Has(std::uint64_t interface, std::uint16_t method) const;

  struct Right {
    std::string call;              // "Master.register"
    std::vector<tls::Role> roles;  // that may make it
    Besides besides = Besides::kNothing;
  };
  // Returns the call's row; null if it is not in the table.
  [[nodiscard]] const Right* Find(std::uint64_t interface, std::uint16_t method) const;
  [[nodiscard]] std::vector<Right> List() const;  // in the order of the table

 private:
  friend class RightsTable;
  std::vector<Right> rights_;
  std::map<std::pair<std::uint64_t, std::uint16_t>, std::size_t> places_;
};

// What the server knows of one peer besides its certificate. Both are called at each call, since what they say changes
// while connections stand.
struct CallJudge {
  // Returns OK if the peer is an administrator, or kDenied; `call` as in Right.
  std::function<Status(const std::string& call)> check_administers;
  // Is told of each call that was refused here.
  std::function<void(const std::string& call, const Status& why)> refused;
};

// Returns a capability that lets through the calls that the peer may make; `served` itself for anyone.
[[nodiscard]] capnp::Capability::Client Guarded(capnp::Capability::Client served, const tls::PeerIdentity& peer,
                                                std::shared_ptr<const CallRights> rights, CallJudge judge);

}  // namespace millrace
