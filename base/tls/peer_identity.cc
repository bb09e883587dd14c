// SPDX-License-Identifier: Apache-2.0
#include "base/tls/peer_identity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace millrace::tls {
namespace {

constexpr std::size_t kMaxName = 48;  // a common name has at most 64 characters (RFC 5280, ub-common-name)
constexpr std::array kNamed = {Role::kWorker, Role::kTask, Role::kClient};

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

bool IsName(std::string_view name) {
  const auto allowed = [](char c) {
    return IsAlphanumeric(c) || std::string_view("._-@+").find(c) != std::string::npos;
  };
  return !name.empty() && name.size() <= kMaxName && IsAlphanumeric(name.front()) && std::ranges::all_of(name, allowed);
}

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kAnyone:
      return "anyone";
    case Role::kMaster:
      return "master";
    case Role::kWorker:
      return "worker";
    case Role::kTask:
      return "task";
    case Role::kClient:
      return "client";
  }
  return "?";
}

std::string ToText(const PeerIdentity& identity) {
  const std::string role(NameOf(identity.role));
  return identity.name.empty() ? role : role + ":" + identity.name;
}

Result<PeerIdentity> ParseIdentity(std::string_view common_name) {
  if (common_name == NameOf(Role::kMaster)) return PeerIdentity{Role::kMaster, {}};
  const std::size_t colon = common_name.find(':');
  const std::string_view role = common_name.substr(0, colon);
  const std::string_view name = colon == common_name.npos ? "" : common_name.substr(colon + 1);
  for (const Role named : kNamed) {
    if (role == NameOf(named) && IsName(name)) return PeerIdentity{named, std::string(name)};
  }
  return Invalid(
      Quote(common_name) +
      " is not a role: give master, worker:NAME or client:USER, where names have 1 to 48 letters, digits and "
      ". _ - @ + and begin with a letter or a digit");
}

}  // namespace millrace::tls
