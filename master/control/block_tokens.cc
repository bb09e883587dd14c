// SPDX-License-Identifier: Apache-2.0
#include "master/control/block_tokens.h"

#include <algorithm>
#include <utility>

#include "base/release.h"
#include "dfs/wire/write_order.h"

namespace millrace::master {
namespace {

// A write begins soon after its token was made; the rest is for clocks that differ. A reader whose token has ended
// looks the block up again.
constexpr Micros kTokenLength = 24 * kHour;

}  // namespace

tls::Grant BlockTokens::GrantTo(std::string subject) const {
  if (!read_key_) return {};
  return {&*read_key_, std::move(subject), clock_.Now() + kTokenLength};
}

std::string BlockTokens::TokenFor(dfs::BlockId block, const std::vector<NodeId>& pipeline,
                                  const std::string& subject) const {
  if (!write_key_) return {};
  return dfs::MakeWriteToken(*write_key_, block, {PlacesOf(pipeline), subject}, clock_.Now() + kTokenLength);
}

std::string BlockTokens::TokenFor(const dfs::ReplicateWork& copy) const {
  if (!write_key_) return {};
  const dfs::BlockContent content{copy.block.length, copy.block.crc};
  return dfs::MakeWriteToken(*write_key_, copy.block.id, {PlacesOf(copy.to), {}, content}, clock_.Now() + kTokenLength);
}

bool BlockTokens::TakesTokens(NodeId node) const {
  const NodeRecord* record = nodes_.Find(node);
  return record != nullptr && record->facts.release.protocol >= kWriteTokensSince;
}

bool BlockTokens::TakeTokens(const std::vector<NodeId>& nodes) const {
  return std::ranges::all_of(nodes, [this](NodeId node) { return TakesTokens(node); });
}

std::vector<dfs::ReplicaHost> BlockTokens::PlacesOf(const std::vector<NodeId>& nodes) const {
  std::vector<dfs::ReplicaHost> places;
  for (const NodeId number : nodes) {
    dfs::ReplicaHost place;
    place.node = number;
    if (const NodeRecord* node = nodes_.Find(number)) {
      place.host = node->facts.host;
      place.port = node->facts.port;
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace millrace::master
