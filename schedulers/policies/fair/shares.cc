// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/shares.h"

#include <algorithm>
#include <cstddef>

namespace millrace::sched {
namespace {

struct Bucket {
  double weight = 0;  // 0: nothing is poured into it
  double bottom = 0;  // what it has before any water
  double top = 0;
};

// This is a level at which a bucket begins or ceases to fill.
struct Edge {
  double level = 0;
  double widens = 0;  // the water's surface, from here on
};

std::vector<Edge> EdgesOf(const std::vector<Bucket>& buckets) {
  std::vector<Edge> edges;
  for (const Bucket& bucket : buckets) {
    if (bucket.weight <= 0 || bucket.bottom >= bucket.top) continue;
    edges.push_back({bucket.bottom / bucket.weight, bucket.weight});
    edges.push_back({bucket.top / bucket.weight, -bucket.weight});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.level < b.level; });
  return edges;
}

// Returns how high the water stands when `left` is poured in.
double Level(double left, const std::vector<Bucket>& buckets) {
  double level = 0, surface = 0;
  for (const Edge& edge : EdgesOf(buckets)) {
    const double poured = surface * (edge.level - level);
    if (poured > left) return level + left / surface;
    left -= poured;
    level = edge.level;
    surface += edge.widens;
  }
  return level;
}

std::vector<double> Pour(double capacity, const std::vector<Bucket>& buckets) {
  double left = capacity;
  for (const Bucket& bucket : buckets) left -= bucket.bottom;
  const double level = Level(std::max(left, 0.0), buckets);
  std::vector<double> contents;
  contents.reserve(buckets.size());
  for (const Bucket& bucket : buckets) {
    contents.push_back(std::clamp(level * bucket.weight, bucket.bottom, std::max(bucket.top, bucket.bottom)));
  }
  return contents;
}

double Wanted(const ShareClaim& claim) { return std::min(claim.demand, claim.maximum); }

}  // namespace

std::vector<double> GrantedMinima(double capacity, const std::vector<ShareClaim>& claims) {
  std::vector<Bucket> buckets;
  double total = 0;
  for (const ShareClaim& claim : claims) {
    const double minimum = std::min(claim.minimum, Wanted(claim));
    total += minimum;
    buckets.push_back({claim.minimum, 0, minimum});
  }
  if (total > capacity) return Pour(capacity, buckets);
  std::vector<double> minima;
  for (const Bucket& bucket : buckets) minima.push_back(bucket.top);
  return minima;
}

std::vector<double> FairShares(double capacity, const std::vector<ShareClaim>& claims) {
  const std::vector<double> minima = GrantedMinima(capacity, claims);
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    buckets.push_back({claims[i].weight, minima[i], Wanted(claims[i])});
  }
  return Pour(capacity, buckets);
}

}  // namespace millrace::sched
