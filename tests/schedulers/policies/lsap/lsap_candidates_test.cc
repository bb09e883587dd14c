// SPDX-License-Identifier: Apache-2.0
// Plans over the candidates against plans over all pending maps: what lsap_candidates.h guarantees, and what not.
#include "schedulers/policies/lsap/lsap_candidates.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "schedulers/policies/lsap/map_assignment.h"

namespace millrace::sched {
namespace {

using Random = std::mt19937_64;
std::uint32_t Draw(Random& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random() % (high - low + 1));
}

constexpr LevelBandwidths kConfigured{80e6, 40e6, 10e6};

void Join(ClusterState* state, std::uint32_t id, const std::string& rack, const std::string& datacenter,
          std::uint32_t maps) {
  state->JoinNode({NodeId{id}, rack, datacenter, {maps, 0}});
  state->SetLimits(NodeId{id}, NodeLimits::Typed({maps, 0}));
}

// Maps of one size, most of them on the first nodes.
void AddJobs(Random& random, ClusterState* state, std::uint32_t jobs, std::uint32_t maps, std::uint32_t nodes) {
  for (std::uint32_t job = 1; job <= jobs; ++job) {
    JobSpec spec;
    const std::uint32_t hot = Draw(random, 1, nodes);
    for (std::uint32_t map = 0; map < maps; ++map) {
      MapInput input{64 << 20, {}};
      for (std::uint32_t n = Draw(random, 1, 3); n > 0; --n) input.replicas.push_back(NodeId{Draw(random, 0, hot - 1)});
      spec.maps.push_back(input);
    }
    state->AddJob(JobId{job}, spec, 0);
  }
}

struct Outcome {
  std::size_t placed = 0;
  double seconds = 0;  // of transfer, by formula 1
  std::size_t local = 0;
};

Outcome Solve(const ClusterState& state, const std::vector<PendingMap>& maps) {
  MapAssignment assignment(state, {false, kConfigured});
  for (const auto& [job, map] : maps) assignment.Add({job, map});
  Outcome outcome;
  for (const auto& [task, node] : assignment.Solve().placed) {
    const MapInput& input = state.FindJob(maps[task].job)->spec.maps[maps[task].map];
    const Locality locality = state.topology().Distance(node, input.replicas);
    ++outcome.placed;
    if (locality == Locality::kNode) ++outcome.local;
    constexpr double kPerByte[] = {0, 1 / 80e6, 1 / 40e6, 1 / 10e6};  // by Locality
    outcome.seconds += static_cast<double>(input.bytes) * kPerByte[static_cast<int>(locality)] *
                       IdleSlots::FreeMapSlots(*state.FindNode(node));
  }
  return outcome;
}

std::vector<PendingMap> AllMaps(const ClusterState& state) {
  std::vector<PendingMap> maps;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    for (const std::uint32_t map : state.FindJob(key.job)->pending_maps.all()) maps.push_back({key.job, map});
  }
  return maps;
}

void ExpectNothingLost(const ClusterState& state) {
  const MapCandidates candidates = CollectCandidates(state, CandidateReach::kPlaces, {});
  const std::vector<PendingMap> all = AllMaps(state);
  EXPECT_FALSE(candidates.all);
  EXPECT_LT(candidates.maps.size(), all.size());
  const Outcome some = Solve(state, candidates.maps), best = Solve(state, all);
  EXPECT_EQ(some.placed, best.placed);
  EXPECT_NEAR(some.seconds, best.seconds, 0.01 + best.seconds / 16);  // costs are rounded down by so much
}

TEST(LsapCandidatesTest, WithFewSlotsNothingIsLost) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    ClusterState state;
    const std::uint32_t nodes = Draw(random, 5, 60), racks = Draw(random, 1, 4);
    for (std::uint32_t id = 0; id < nodes; ++id) {
      const std::uint32_t rack = Draw(random, 1, racks);
      Join(&state, id, "r" + std::to_string(rack), "d" + std::to_string(rack % 2), Draw(random, 1, 2));
    }
    AddJobs(random, &state, 4, 1'000, nodes);
    ExpectNothingLost(state);
  }
}

// Not proven; so it was in all of these.
TEST(LsapCandidatesTest, WithManySlotsNothingIsLostOnRandomClusters) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    ClusterState state;
    for (std::uint32_t id = 0; id < 600; ++id) {
      Join(&state, id, "r" + std::to_string(id % 12), "d" + std::to_string(id % 2), Draw(random, 1, 2));
    }
    AddJobs(random, &state, 4, 3'000, 40);
    ExpectNothingLost(state);
  }
}

// n1 to n64 need the 64 maps that n0 takes; behind those is one that can run at its data on n0 alone.
TEST(LsapCandidatesTest, WithManySlotsAMapBehindTheFirst64OfASlotCanBeMissed) {
  ClusterState state;
  for (std::uint32_t id = 0; id < 600; ++id) Join(&state, id, "r", "", 1);
  Join(&state, 600, "r", "", 0);
  JobSpec first, second;
  first.maps.assign(3'000, {64 << 20, {NodeId{600}}});
  for (std::uint32_t n = 1; n <= 64; ++n) second.maps.push_back({64 << 20, {NodeId{0}, NodeId{n}}});
  second.maps.push_back({64 << 20, {NodeId{0}}});
  state.AddJob(JobId{1}, first, 0);
  state.AddJob(JobId{2}, second, 0);
  const MapCandidates candidates = CollectCandidates(state, CandidateReach::kPlaces, {});
  EXPECT_EQ(Solve(state, candidates.maps).placed, 600u);
  EXPECT_EQ(Solve(state, candidates.maps).local, 64u);
  EXPECT_EQ(Solve(state, AllMaps(state)).local, 65u);
}

}  // namespace
}  // namespace millrace::sched
