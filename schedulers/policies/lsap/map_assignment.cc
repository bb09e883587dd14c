// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/map_assignment.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

// Up to this many costs are considered pair by pair; with more, measurements far from a row's replicas are left out.
constexpr double kMaxCosts = 4e6;

void Mix(std::uint64_t value, std::uint64_t* hash) {
  *hash = (*hash ^ value) * 0x9e3779b97f4a7c15;
  *hash ^= *hash >> 32;
}

}  // namespace

MapAssignment::MapAssignment(const ClusterState& state, TransferCosts::Options options)
    : state_(state), options_(options), slots_(state, !options.uniform, &places_) {}

const MapInput& MapAssignment::InputOf(const Task& task) const { return state_.FindJob(task.job)->spec.maps[task.map]; }

// Returns true if there are nodes where it may not run.
bool MapAssignment::Constrained(const Task& task) const {
  const JobState& job = *state_.FindJob(task.job);
  return job.live_bad_nodes > 0 || !job.failed_on[TaskKind::kMap].empty();
}

bool MapAssignment::Alike(const Task& a, const Task& b) const {
  const auto limits = [](const Task& task) { return std::tie(task.worst, task.weight, task.fixed); };
  return limits(a) == limits(b) && !Constrained(a) && !Constrained(b) && InputOf(a) == InputOf(b);
}

std::uint64_t MapAssignment::HashOf(const Task& task) const {
  std::uint64_t hash = 0;
  const MapInput& input = InputOf(task);
  Mix(input.bytes, &hash);
  for (const NodeId replica : input.replicas) Mix(replica.value, &hash);
  Mix(static_cast<std::uint64_t>(task.worst), &hash);
  Mix(std::bit_cast<std::uint64_t>(task.weight), &hash);
  Mix(std::bit_cast<std::uint64_t>(task.fixed), &hash);
  return hash;
}

void MapAssignment::Add(const Task& task) {
  const std::size_t number = next_.size();
  next_.push_back(number);
  const auto [at, is_new] = row_of_hash_.try_emplace(HashOf(task));
  if (!is_new && Alike(rows_[at->second].first, task)) {
    Row& row = rows_[at->second];
    if (row.tasks == slots_.total()) return;  // more of them cannot run
    next_[row.last] = number;
    row.last = number;
    ++row.tasks;
    return;
  }
  at->second = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back({task, number, number, 1});
}

std::vector<NodeId> MapAssignment::ClosedTo(const Task& task) const {
  std::vector<NodeId> closed;
  if (!Constrained(task)) return closed;
  const JobState& job = *state_.FindJob(task.job);
  for (const NodeId bad : job.bad_nodes) {
    if (state_.Refused(job, bad)) closed.push_back(bad);
  }
  const auto& failed_on = job.failed_on[TaskKind::kMap];
  for (auto at = failed_on.lower_bound({task.map, NodeId{0}}); at != failed_on.end() && at->first == task.map; ++at) {
    if (state_.Avoids(job, TaskKind::kMap, task.map, at->second)) closed.push_back(at->second);
  }
  std::sort(closed.begin(), closed.end());
  closed.erase(std::unique(closed.begin(), closed.end()), closed.end());
  return closed;
}

MapAssignment::LocalRows MapAssignment::RowsAtData() const {
  LocalRows local;
  for (std::uint32_t number = 0; number < rows_.size(); ++number) {
    const Row& row = rows_[number];
    const auto begin = static_cast<std::uint32_t>(local.places.size());
    const std::vector<NodeId> closed = ClosedTo(row.first);
    for (const NodeId replica : InputOf(row.first).replicas) {
      if (replica.value >= state_.node_ids() || slots_.OfNode(replica) == Assignment::kNoPlace) continue;
      if (std::binary_search(closed.begin(), closed.end(), replica)) continue;
      const Assignment::Place place = slots_.OfNode(replica);
      if (std::find(local.places.begin() + begin, local.places.end(), place) == local.places.end())
        local.places.push_back(place);
    }
    const auto end = static_cast<std::uint32_t>(local.places.size());
    local.rows.push_back({TransferCosts::Fixed(row.first.fixed), number, begin, end});
  }
  return local;
}

std::optional<MapAssignment::Plan> MapAssignment::SolveLocally() const {
  std::vector<std::uint32_t> free(slots_.size());
  for (const std::uint32_t id : state_.FreeNodes(TaskKind::kMap)) {
    free[slots_.OfNode(NodeId{id})] = IdleSlots::FreeMapSlots(*state_.FindNode(NodeId{id}));
  }
  LocalRows local = RowsAtData();
  std::uint64_t tasks = 0;
  for (const LocalRows::RowPlaces& entry : local.rows) tasks += rows_[entry.row].tasks;
  const std::uint64_t wanted = std::min<std::uint64_t>(tasks, slots_.total());
  std::stable_sort(local.rows.begin(), local.rows.end(),
                   [](const auto& a, const auto& b) { return a.fixed < b.fixed; });
  LocalMatch match(std::move(free));
  if (!MatchCheapest(local, wanted, &match)) return std::nullopt;
  return PlanOf(match.Shares());
}

bool MapAssignment::MatchCheapest(const LocalRows& local, std::uint64_t wanted, LocalMatch* match) const {
  const auto& rows = local.rows;
  for (std::size_t begin = 0, end = 0; wanted > 0 && begin < rows.size(); begin = end) {
    std::uint64_t alike = 0;  // tasks of this fixed cost
    for (; end < rows.size() && rows[end].fixed == rows[begin].fixed; ++end) alike += rows_[rows[end].row].tasks;
    std::uint64_t left = std::min(alike, wanted);
    std::uint64_t spare = alike - left;  // so many need no slot
    wanted -= left;
    for (std::size_t at = begin; left > 0 && at < end; ++at) {
      const std::uint32_t of_row = rows_[rows[at].row].tasks;
      const auto asked = static_cast<std::uint32_t>(std::min<std::uint64_t>(of_row, left));
      const std::uint32_t placed = match->Add(rows[at].row, asked, local.PlacesOf(rows[at]));
      const std::uint32_t lost = placed < asked ? of_row - placed : 0;
      if (lost > spare) return false;
      left -= placed;
      spare -= lost;
    }
  }
  return true;
}

MapAssignment::Plan MapAssignment::Solve() const {
  if (auto local = SolveLocally()) return *std::move(local);
  TransferCosts::Options options = options_;
  const Bandwidths& measured = state_.bandwidths();
  const double partners = static_cast<double>(measured.node_pairs()) / std::max(1u, state_.node_ids()) +
                          static_cast<double>(measured.rack_pairs()) / std::max(1u, state_.topology().racks());
  options.far_pairs = options.far_pairs && static_cast<double>(rows_.size()) * partners <= kMaxCosts;
  TransferCosts costs(state_, slots_, options);
  std::vector<RowCosts> known(rows_.size());
  const Assignment::Cost highest = HighestFixed(&costs, &known);
  Assignment problem = places_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (TransferCosts::Fixed(row.first.fixed) > highest) {
      problem.AddRow(0, {});
    } else if (known[i].empty()) {
      problem.AddRow(row.tasks, CostsOf(row, &costs));
    } else {
      problem.AddRow(row.tasks, known[i]);
    }
  }
  return PlanOf(problem.Solve().shares);
}

std::span<const Assignment::PlaceCost> MapAssignment::CostsOf(const Row& row, TransferCosts* costs) const {
  const Task& task = row.first;
  return costs->Of({&InputOf(task), task.worst, task.weight, task.fixed, ClosedTo(task)});
}

// With S slots, let S maps cost no more than c in whatever slot. In a plan with a map of a higher fixed cost one of
// them has no slot, and would cost less in that map's.
Assignment::Cost MapAssignment::HighestFixed(TransferCosts* costs, std::vector<RowCosts>* known) const {
  std::vector<std::pair<Assignment::Cost, std::uint32_t>> by_fixed;  // rows
  std::uint64_t all = 0;
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    by_fixed.emplace_back(TransferCosts::Fixed(rows_[row].first.fixed), row);
    all += rows_[row].tasks;
  }
  std::sort(by_fixed.begin(), by_fixed.end());
  if (all <= slots_.total() || by_fixed.front().first == by_fixed.back().first) return Assignment::kMaxCost;
  Assignment::Cost most = 0;
  std::uint64_t tasks = 0;
  for (const auto& [fixed, number] : by_fixed) {
    const Row& row = rows_[number];
    if (row.first.worst != Locality::kOff || Constrained(row.first)) continue;
    const auto of_row = CostsOf(row, costs);
    (*known)[number].assign(of_row.begin(), of_row.end());
    for (const auto& [place, cost] : of_row) most = std::max(most, cost);
    if (most >= by_fixed.back().first) break;  // nothing would be left out
    tasks += row.tasks;
    if (tasks >= slots_.total()) return most;
  }
  return Assignment::kMaxCost;
}

MapAssignment::Plan MapAssignment::PlanOf(const std::vector<Assignment::Share>& shares) const {
  Plan plan;
  std::size_t task = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto& [row, place, tasks] = shares[i];
    if (i == 0 || shares[i - 1].row != row) task = rows_[row].begin;
    const NodeId node{slots_.At(place).id};
    for (std::uint32_t n = 0; n < tasks; ++n, task = next_[task]) plan.placed.push_back({task, node});
  }
  std::sort(plan.placed.begin(), plan.placed.end(),
            [](const Placed& a, const Placed& b) { return std::tie(a.node, a.task) < std::tie(b.node, b.task); });
  return plan;
}

}  // namespace millrace::sched
