// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/write_order.h"

#include <algorithm>

#include "base/archive.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {
namespace {

constexpr auto kTerms = [](auto& archive, auto& order) {
  archive.Presence(order.copy_of);
  archive.List(order.pipeline, kPlaceFields, [](std::uint64_t size) {
    if (size <= kMaxPipeline) return Status::Ok();
    return Invalid("the token names a pipeline of " + std::to_string(size) + " nodes");
  });
  if (order.copy_of) kContentFields(archive, *order.copy_of);
};

Result<WriteOrder> Decode(const tls::TokenSays& says) {
  Result<WriteOrder> order = ReadFields<WriteOrder>(says.terms, "a token", kTerms);
  if (order.ok()) {
    order->subject = says.subject;
  } else if (order.status().code() == StatusCode::kCorrupt) {
    return Invalid("the token is of another version");
  }
  return order;
}

auto PlaceOf(const WriteOrder& order, NodeId node) {
  return std::ranges::find(order.pipeline, node, &ReplicaHost::node);
}

Status CheckPeer(const WriteOrder& order, const Shown& shown) {
  const auto at = PlaceOf(order, shown.to);
  if (at == order.pipeline.end())
    return Invalid("the token is not for this node, number " + std::to_string(shown.to.value));
  const tls::Role role = shown.peer.role;
  if (order.copy_of.has_value()) {
    const bool by_worker = role == tls::Role::kWorker || role == tls::Role::kAnyone;
    return by_worker && !shown.local ? Status::Ok() : Invalid("the token is for a copy that a worker makes");
  }
  if (shown.local || role == tls::Role::kAnyone) return Status::Ok();
  if (role == tls::Role::kWorker) {
    return at != order.pipeline.begin() ? Status::Ok() : Invalid("the token is for " + order.subject);
  }
  return tls::SubjectOf(shown.peer) == order.subject ? Status::Ok() : Invalid("the token is for " + order.subject);
}

}  // namespace

std::string MakeWriteToken(const tls::TokenKey& key, std::uint64_t block, const WriteOrder& order, Micros until) {
  return key.MakeToken(block, order.subject, until, tls::TokenUse::kWrite, WriteFields(order, kTerms));
}

Result<WriteOrder> CheckWriteToken(const tls::TokenKey& key, std::string_view token, std::uint64_t block,
                                   const Shown& shown, std::optional<Micros> begins_at) {
  MILLRACE_ASSIGN(const tls::TokenSays says, key.Open(token, block, tls::TokenUse::kWrite));
  MILLRACE_ASSIGN(WriteOrder order, Decode(says));
  MILLRACE_TRY(CheckPeer(order, shown));
  if (begins_at.has_value()) MILLRACE_TRY(CheckNotEnded(says, *begins_at));
  return order;
}

Status CheckRest(const WriteOrder& order, NodeId at, const std::vector<ReplicaHost>& rest) {
  const auto same = [](const ReplicaHost& a, const ReplicaHost& b) {
    return a.node == b.node && a.host == b.host && a.port == b.port;
  };
  const auto here = PlaceOf(order, at);
  if (here != order.pipeline.end() && std::equal(here + 1, order.pipeline.end(), rest.begin(), rest.end(), same))
    return Status::Ok();
  return Invalid(
      "the pipeline is not the one that the master gave out with the token; write to the nodes that it "
      "names, in their order");
}

}  // namespace millrace::dfs
