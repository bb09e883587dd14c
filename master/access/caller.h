// SPDX-License-Identifier: Apache-2.0
// Caller is the peer of one connection to the master: its identity, its rights, and its lines in the audit log. The
// services ask it before they do anything that is not open to everybody; nothing else in the master knows about users.
// Every check reads the rules again, since they change while connections stand. Without TLS the peer is unknown: it may
// do everything, and its name is the one that the call gives. Thread rule: the control thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/rpc/transport.h"
#include "base/status.h"
#include "dfs/name/permissions.h"

namespace millrace::master {

class AccessRules;  // master/access/access_rules.h
class AuditLog;     // master/access/audit_log.h

class Caller {
 public:
  // Requires: `rules` and `audit` outlive the caller.
  Caller(const AccessRules& rules, AuditLog& audit, rpc::Peer peer);

  [[nodiscard]] const rpc::Peer& peer() const { return peer_; }
  [[nodiscard]] const std::string& user() const { return user_; }  // empty without TLS, and for a worker
  // Returns the owner of the things that the caller makes: the caller's user or, without TLS, the user that the call
  // names.
  [[nodiscard]] std::string OwnerOr(std::string_view named) const { return std::string(user_.empty() ? named : user_); }
  // Returns true if the caller is a client, not a task, and its user is an administrator now; always true without TLS.
  [[nodiscard]] bool IsAdministrator() const;
  // Returns the user with their present groups. An administrator's client is refused nothing, nor is any caller without
  // TLS. A worker is refused nothing either: call_rights.h already denies it every call that changes a file, but for
  // those that write its archives of logs (JobLogs in master/control/job_logs.h).
  [[nodiscard]] dfs::Principal principal() const;

  // Each of these checks returns OK, or kDenied with the caller, the action, its object, the reason, and whom to ask.
  // `pool` is the job's pool: its owner's if the job names none (PoolOf in base/protocol/job_values.h).
  [[nodiscard]] Status CheckAdministers(std::string_view what) const;  // "drain nodes"
  [[nodiscard]] Status CheckSubmits(std::string_view pool) const;
  // Allows the owner of the job, the administrators of its pool, and the administrators of the cluster.
  [[nodiscard]] Status CheckManages(std::string_view what, std::string_view job, std::string_view owner,
                                    std::string_view pool) const;  // "kill", "job 3"
  // Allows the administrators of the pool and of the cluster, and not the job's owner as such.
  [[nodiscard]] Status CheckOperates(std::string_view what, std::string_view job, std::string_view pool) const;
  // Allows the owner of the job and the administrators of the cluster. Neither here nor in CheckManages does a task
  // count as its owner.
  [[nodiscard]] Status CheckOwns(std::string_view what, std::string_view job, std::string_view owner) const;

  // Writes one line to the audit log: this caller, `call` ("rename"), its object `on` ("\"/a\" to \"/b\"") and the
  // outcome. Returns the outcome.
  Status Audited(std::string_view call, std::string_view on, Status outcome) const;
  // Does what Audited does for a call that only looks at a path, but writes the line only if the call is denied or the
  // log records such calls.
  Status AuditedLook(std::string_view call, std::string_view path, Status outcome) const;

 private:
  [[nodiscard]] bool known() const { return peer_.identity.role != tls::Role::kAnyone; }
  [[nodiscard]] bool is_client() const { return peer_.identity.role == tls::Role::kClient; }

  const AccessRules& rules_;
  AuditLog& audit_;
  const rpc::Peer peer_;
  const std::string user_;
};

// Callers makes the Caller of each connection, and knows the rights of users who have none.
class Callers {
 public:
  // `binds` says that the rules matter (there is TLS). Requires: `rules` and `audit` outlive this and every caller.
  Callers(const AccessRules& rules, AuditLog& audit, bool binds) : rules_(rules), audit_(audit), binds_(binds) {}

  // Makes the Caller of one connection. Without an argument the Caller may do everything, as without TLS.
  [[nodiscard]] std::shared_ptr<const Caller> Make(const rpc::Peer& peer = {}) const {
    return std::make_shared<const Caller>(rules_, audit_, peer);
  }
  // Returns the rights that a user has now, for work on the user's behalf that no connection of theirs asks for.
  [[nodiscard]] dfs::Principal PrincipalOf(const std::string& user) const;

 private:
  const AccessRules& rules_;
  AuditLog& audit_;
  const bool binds_;
};

// Returns the path as the audit log shows it: quoted and in full.
[[nodiscard]] std::string AuditedPath(std::string_view path);

}  // namespace millrace::master
