// Caller: who is at the other end of one connection to the master, what he may do, and the line of the audit log for
// what he did. The services ask it before they do anything that not everybody may; nothing else in the master knows of
// people. The rules are looked at with each question, since they change while connections stand. Without TLS nobody
// knows who it is: he is everybody, may do everything, and is named by what the call says.
// Thread rule: the control thread.
#pragma once

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
  // Returns whom a thing that the caller makes belongs to: the user; without TLS the one that the call names.
  [[nodiscard]] std::string OwnerOr(std::string_view named) const { return std::string(user_.empty() ? named : user_); }
  // Returns whether it is a client, never a task, whose user is an administrator now; true for everybody without TLS.
  [[nodiscard]] bool IsAdministrator() const;
  // Returns the user with the groups that he has now. An administrator's client is refused nothing, and so is everybody
  // without TLS. A worker is refused nothing either: it may make no call that changes a file (call_rights.h).
  [[nodiscard]] dfs::Principal principal() const;

  // Each returns OK, or kDenied saying who, what, on which thing, why, and whom to ask. `pool` is the one that the job
  // is in, which is its owner's if it names none (PoolOf in job_record.h).
  [[nodiscard]] Status CheckAdministers(std::string_view what) const;  // "drain nodes"
  [[nodiscard]] Status CheckSubmits(std::string_view pool) const;
  // For the owner of the job, for those who administer its pool, and for administrators.
  [[nodiscard]] Status CheckManages(std::string_view what, std::string_view job, std::string_view owner,
                                    std::string_view pool) const;  // "kill", "job 3"
  // For the owner of the job and administrators. A task is refused what is for owners, as everywhere above.
  [[nodiscard]] Status CheckOwns(std::string_view what, std::string_view job, std::string_view owner) const;

  // Writes one line to the audit log: this caller, `call` ("rename"), `on` what ("\"/a\" to \"/b\""), and the outcome,
  // which it returns.
  Status Audited(std::string_view call, std::string_view on, Status outcome) const;
  // The same of a call that only looks at a path: not written unless it is refused, or such calls are asked for.
  Status AuditedLook(std::string_view call, std::string_view path, Status outcome) const;

 private:
  [[nodiscard]] bool known() const { return peer_.identity.role != tls::Role::kAnyone; }
  [[nodiscard]] bool is_client() const { return peer_.identity.role == tls::Role::kClient; }

  const AccessRules& rules_;
  AuditLog& audit_;
  const rpc::Peer peer_;
  const std::string user_;
};

// Returns a path as the audit log has it: quoted, and whole.
[[nodiscard]] std::string AuditedPath(std::string_view path);

}  // namespace millrace::master
