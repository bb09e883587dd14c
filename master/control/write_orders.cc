#include "master/control/write_orders.h"

#include <algorithm>

#include "base/release.h"
#include "dfs/wire/write_order.h"

namespace millrace::master {
namespace {

// A write begins soon after its token was made; the rest is for clocks that differ.
constexpr Micros kTokenLength = 24 * kHour;

}  // namespace

std::string WriteOrders::TokenFor(dfs::BlockId block, const std::vector<NodeId>& pipeline,
                                  const std::string& subject) const {
  if (!key_) return {};
  return dfs::MakeWriteToken(*key_, block, {PlacesOf(pipeline), subject}, clock_.Now() + kTokenLength);
}

std::string WriteOrders::TokenFor(const dfs::ReplicateWork& copy) const {
  if (!key_) return {};
  const dfs::BlockContent content{copy.block.length, copy.block.crc};
  return dfs::MakeWriteToken(*key_, copy.block.id, {PlacesOf(copy.to), {}, content}, clock_.Now() + kTokenLength);
}

bool WriteOrders::TakesTokens(NodeId node) const {
  const NodeRecord* record = nodes_.Find(node);
  return record != nullptr && record->facts.release.protocol >= kWriteTokensSince;
}

bool WriteOrders::TakeTokens(const std::vector<NodeId>& nodes) const {
  return std::ranges::all_of(nodes, [this](NodeId node) { return TakesTokens(node); });
}

std::vector<dfs::ReplicaHost> WriteOrders::PlacesOf(const std::vector<NodeId>& nodes) const {
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
