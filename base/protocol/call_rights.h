// SPDX-License-Identifier: Apache-2.0
// CallRights: one table of the roles and rights that each call of the schemas in this folder needs. A call that is
// added to a schema but not to the table fails a test. Guarded enforces roles and the administrator right on a
// connection's first capability and on every one obtained through it; the services themselves check the other rights.
// Without TLS, every peer is Role::kAnyone and may make every call.
// Thread rule: a value; Guarded: the control thread.
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

// The right that a call needs besides the role.
enum class Besides : std::uint8_t {
  kNothing,
  kAdministrator,  // to be an administrator
  kPath,           // the permission in the mode of the file, and of the directories above it
  kLease,          // to have opened the file
  kSubmit,         // to be admitted to the pool
  kJob,            // to own the job, to administer its pool, or to be an administrator
  kOwnJob,         // to own the job, or to be an administrator
  kSession,        // to be the worker that has registered
};
[[nodiscard]] std::string_view InWords(Besides right);  // "administrator"; "" for kNothing

class CallRights {
 public:
  CallRights();

  // Returns OK if a peer of this role may make the call, given by the numbers of its interface and method on the wire.
  // Returns kDenied, with the call and the peer, if it may not. Returns kInvalid for a call that is not in the table;
  // only Role::kAnyone (no TLS) may make it.
  [[nodiscard]] Status Check(const tls::PeerIdentity& peer, std::uint64_t interface, std::uint16_t method) const;
  [[nodiscard]] bool Has(std::uint64_t interface, std::uint16_t method) const;

  struct Right {
    std::string call;              // "Master.register"
    std::vector<tls::Role> roles;  // the roles that may make it
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

// The server's callbacks for one peer. Rights are checked at each call, since they change while connections are open.
struct CallJudge {
  // Returns OK if the peer is an administrator, or kDenied; `call` is named as in Right.
  std::function<Status(const std::string& call)> check_administers;
  // Receives each call that Guarded refused, with the reason.
  std::function<void(const std::string& call, const Status& why)> refused;
};

// Returns a capability that passes on the calls that the peer may make; for Role::kAnyone, `served` itself.
[[nodiscard]] capnp::Capability::Client Guarded(capnp::Capability::Client served, const tls::PeerIdentity& peer,
                                                std::shared_ptr<const CallRights> rights, CallJudge judge);

}  // namespace millrace
