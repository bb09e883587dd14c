// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/placement.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "base/check.h"

namespace millrace::dfs {
namespace {

bool Contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// Chooses the targets of one block. It keeps who may still be chosen, and, in order, who holds or will hold a replica.
class Chooser {
 public:
  Chooser(const std::vector<Candidate>& candidates, const PlacementRequest& request, Random& random)
      : request_(request), random_(random) {
    for (const Candidate& c : candidates) {
      if (Contains(request.existing, c.node)) {
        held_.push_back(&c);
      } else if (c.free_bytes >= request.block_size && !Contains(request.excluded, c.node)) {
        open_.push_back(&c);
      }
    }
  }

  std::vector<NodeId> Choose() {
    std::vector<NodeId> chosen;
    while (chosen.size() < request_.replicas && !open_.empty()) {
      const Candidate* next = Next();
      open_.erase(std::find(open_.begin(), open_.end(), next));
      held_.push_back(next);
      chosen.push_back(next->node);
    }
    return chosen;
  }

 private:
  const Candidate* Next() {
    const auto any = [](const Candidate&) { return true; };
    if (held_.empty()) {
      const auto is_writer = [this](const Candidate& c) { return c.node == request_.writer; };
      const Candidate* writer = Pick(is_writer);
      return writer != nullptr ? writer : Pick(any);
    }
    if (request_.spread_datacenters) {
      if (const Candidate* elsewhere = Pick([this](const Candidate& c) { return IsNewDatacenter(c); }))
        return elsewhere;
    }
    const Candidate* by_rack = nullptr;
    const Location& first = held_[0]->where;
    if (held_.size() == 1 || (held_.size() == 2 && held_[1]->where == first)) {
      by_rack = Pick([&](const Candidate& c) { return c.where != first; });
    } else if (held_.size() == 2) {
      by_rack = Pick([this](const Candidate& c) { return c.where == held_[1]->where; });
    }
    return by_rack != nullptr ? by_rack : Pick(any);
  }

  bool IsNewDatacenter(const Candidate& c) const {
    return std::none_of(held_.begin(), held_.end(),
                        [&](const Candidate* h) { return h->where.datacenter == c.where.datacenter; });
  }

  // Returns, of the candidates that satisfy the rule, one with the fewest writes. Ties are broken at random (by a
  // reservoir of size one). Returns null if no candidate satisfies it.
  template <class Rule>
  const Candidate* Pick(Rule rule) {
    const Candidate* best = nullptr;
    std::uint64_t equals = 0;
    for (const Candidate* c : open_) {
      if (best != nullptr && c->writes_under_way > best->writes_under_way) continue;
      if (!rule(*c)) continue;
      if (best == nullptr || c->writes_under_way < best->writes_under_way) {
        best = c;
        equals = 1;
      } else if (random_.Below(++equals) == 0) {
        best = c;
      }
    }
    return best;
  }

  const PlacementRequest& request_;
  Random& random_;
  std::vector<const Candidate*> open_;
  std::vector<const Candidate*> held_;
};

struct Spread {
  std::size_t racks = 0;
  std::size_t datacenters = 0;
  auto operator<=>(const Spread&) const = default;
};

Spread SpreadWithout(const std::vector<Candidate>& holders, const Candidate& left_out) {
  std::set<Location> racks;
  std::set<std::string_view> datacenters;
  for (const Candidate& h : holders) {
    if (&h == &left_out) continue;
    racks.insert(h.where);
    datacenters.insert(h.where.datacenter);
  }
  return {racks.size(), datacenters.size()};
}

}  // namespace

std::vector<NodeId> ChooseTargets(const std::vector<Candidate>& candidates, const PlacementRequest& request,
                                  Random& random) {
  return Chooser(candidates, request, random).Choose();
}

NodeId ChooseSurplus(const std::vector<Candidate>& holders) {
  MILLRACE_CHECK(holders.size() >= 2, "the last replica is never surplus");
  const Candidate* best = nullptr;
  Spread best_spread;
  for (const Candidate& h : holders) {
    const Spread spread = SpreadWithout(holders, h);
    const auto rank = [](const Candidate& c) { return std::tuple(!c.ailing, c.free_bytes, c.node); };
    const bool better = best == nullptr || spread > best_spread || (spread == best_spread && rank(h) < rank(*best));
    if (!better) continue;
    best = &h;
    best_spread = spread;
  }
  return best->node;
}

bool MoveKeepsSpread(const std::vector<const Location*>& others, const Location& from, const Location& to) {
  const auto count = [&others](auto same) {
    return std::any_of(others.begin(), others.end(), [&same](const Location* other) { return same(*other); }) ? 0 : 1;
  };
  const int rack_lost = count([&from](const Location& other) { return other == from; });
  const int rack_won = count([&to](const Location& other) { return other == to; });
  const int datacenter_lost = count([&from](const Location& other) { return other.datacenter == from.datacenter; });
  const int datacenter_won = count([&to](const Location& other) { return other.datacenter == to.datacenter; });
  return rack_won >= rack_lost && datacenter_won >= datacenter_lost;
}

Locality DistanceBetween(NodeId a, const Location& a_where, NodeId b, const Location& b_where) {
  if (a == b) return Locality::kNode;
  if (a_where == b_where) return Locality::kRack;
  return a_where.datacenter == b_where.datacenter ? Locality::kDatacenter : Locality::kOff;
}

}  // namespace millrace::dfs
