// SPDX-License-Identifier: Apache-2.0
// PeerIdentity: the role and name of the process at the other end of a connection. With TLS, they come from the common
// name of the peer's verified certificate. Without TLS, the role is kAnyone, and every peer may do everything.
//
// Common names: "master", "worker:NAME", "client:USER", and "task:USER" in the certificates that workers issue to the
// task processes of USER's jobs. A name has 1 to 48 characters: letters, digits and . _ - @ +. The first is a letter or
// a digit. Thread rule: a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::tls {

enum class Role : std::uint8_t {
  kAnyone,  // there is no TLS
  kMaster,
  kWorker,
  kTask,  // a process that runs the code of a user's job
  kClient,
};
[[nodiscard]] std::string_view NameOf(Role role);  // "worker"

struct PeerIdentity {
  Role role = Role::kAnyone;
  std::string name;  // the worker, or the user for a client or a task; empty for other roles

  // Returns the user for whom the peer acts; empty unless it is a client or a task.
  [[nodiscard]] std::string_view user() const {
    return role == Role::kClient || role == Role::kTask ? std::string_view(name) : std::string_view();
  }
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

// Returns true if `name` may be the name of a user or a worker.
[[nodiscard]] bool IsName(std::string_view name);

// Returns the common name, "client:ann"; "anyone" without TLS. For messages and certificates.
[[nodiscard]] std::string ToText(const PeerIdentity& identity);
// Reads a common name. Returns kInvalid, with the grammar, if the text is not one.
[[nodiscard]] Result<PeerIdentity> ParseIdentity(std::string_view common_name);

}  // namespace millrace::tls
