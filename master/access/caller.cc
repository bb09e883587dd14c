// SPDX-License-Identifier: Apache-2.0
#include "master/access/caller.h"

#include <utility>

#include "base/text.h"
#include "master/access/access_rules.h"
#include "master/access/audit_log.h"

namespace millrace::master {

Caller::Caller(const AccessRules& rules, AuditLog& audit, rpc::Peer peer)
    : rules_(rules), audit_(audit), peer_(std::move(peer)), user_(peer_.identity.user()) {}

bool Caller::IsAdministrator() const { return !known() || (is_client() && rules_.IsAdministrator(user_)); }

dfs::Principal Caller::principal() const {
  dfs::Principal principal;
  principal.user = user_;
  principal.superuser = IsAdministrator() || user_.empty();
  if (!user_.empty()) principal.groups = rules_.GroupsOf(user_);
  return principal;
}

Status Caller::CheckAdministers(std::string_view what) const {
  if (IsAdministrator()) return Status::Ok();
  return Denied(tls::ToText(peer_.identity) + " may not " + std::string(what) + ": that is for administrators (" +
                rules_.Administrators() + ")");
}

Status Caller::CheckSubmits(std::string_view pool) const {
  if (!known() || (is_client() && rules_.MaySubmit(user_, pool))) return Status::Ok();
  return Denied(tls::ToText(peer_.identity) + " may not submit to pool " + Quote(pool) + ": that is for " +
                rules_.SubmittersOf(pool) + ", for those who administer the pool (" + rules_.AdministratorsOf(pool) +
                ") and for administrators (" + rules_.Administrators() + "); name another pool, or ask one of these");
}

Status Caller::CheckManages(std::string_view what, std::string_view job, std::string_view owner,
                            std::string_view pool) const {
  if (!known() || (is_client() && (user_ == owner || rules_.MayAdminister(user_, pool)))) return Status::Ok();
  return Denied(tls::ToText(peer_.identity) + " may not " + std::string(what) + " " + std::string(job) + ": it is " +
                Printable(owner) + "'s; ask its owner, those who administer its pool " + Quote(pool) + " (" +
                rules_.AdministratorsOf(pool) + ") or an administrator (" + rules_.Administrators() + ")");
}

Status Caller::CheckOperates(std::string_view what, std::string_view job, std::string_view pool) const {
  if (!known() || (is_client() && rules_.MayAdminister(user_, pool))) return Status::Ok();
  return Denied(tls::ToText(peer_.identity) + " may not " + std::string(what) + " " + std::string(job) +
                ": an operator holds it; ask those who administer its pool " + Quote(pool) + " (" +
                rules_.AdministratorsOf(pool) + ") or an administrator (" + rules_.Administrators() + ")");
}

Status Caller::CheckOwns(std::string_view what, std::string_view job, std::string_view owner) const {
  if (!known() || (is_client() && (user_ == owner || rules_.IsAdministrator(user_)))) return Status::Ok();
  return Denied(tls::ToText(peer_.identity) + " may not " + std::string(what) + " " + std::string(job) + ": it is " +
                Printable(owner) + "'s; ask its owner or an administrator (" + rules_.Administrators() + ")");
}

Status Caller::Audited(std::string_view call, std::string_view on, Status outcome) const {
  audit_.Write({peer_.identity, peer_.address, call, on, outcome});
  return outcome;
}

Status Caller::AuditedLook(std::string_view call, std::string_view path, Status outcome) const {
  const bool told = audit_.writes_reads() || (audit_.writes() && outcome.code() == StatusCode::kDenied);
  return told ? Audited(call, AuditedPath(path), std::move(outcome)) : outcome;
}

dfs::Principal Callers::PrincipalOf(const std::string& user) const {
  if (!binds_) return dfs::Everybody();
  return {.user = user, .groups = rules_.GroupsOf(user), .superuser = rules_.IsAdministrator(user)};
}

std::string AuditedPath(std::string_view path) { return Quote(path, std::string_view::npos); }

}  // namespace millrace::master
