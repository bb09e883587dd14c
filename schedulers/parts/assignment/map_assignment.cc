#include "schedulers/parts/assignment/map_assignment.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

// So many costs are looked at pair by pair; with more, what was measured far from a row's replicas is left out.
constexpr double kMaxCosts = 4e6;

void Mix(std::uint64_t value, std::uint64_t* hash) {
  *hash = (*hash ^ value) * 0x9e3779b97f4a7c15;
  *hash ^= *hash >> 32;
}

}  // namespace

MapAssignment::MapAssignment(const ClusterState& state, TransferCosts::Options options)
    : state_(state), options_(options), slots_(state, !options.uniform, &places_) {}

const MapInput& MapAssignment::InputOf(const Task& task) const { return state_.FindJob(task.job)->spec.maps[task.map]; }

// There are nodes where it may not run.
bool MapAssignment::Constrained(const Task& task) const {
  const JobState& job = *state_.FindJob(task.job);
  return job.live_bad_nodes > 0 || !job.failed_on[static_cast<std::size_t>(TaskKind::kMap)].empty();
}

bool MapAssignment::Alike(const Task& a, const Task& b) const {
  const auto limits = [](const Task& task) { return std::tie(task.worst, task.weight, task.fixed); };
  return limits(a) == limits(b) && !Constrained(a) && !Constrained(b) && InputOf(a) == InputOf(b);
}

void MapAssignment::Add(const Task& task) {
  const std::size_t number = added_++;
  std::uint64_t hash = 0;
  const MapInput& input = InputOf(task);
  Mix(input.bytes, &hash);
  for (const NodeId replica : input.replicas) Mix(replica.value, &hash);
  Mix(static_cast<std::uint64_t>(task.worst), &hash);
  Mix(std::bit_cast<std::uint64_t>(task.weight), &hash);
  Mix(std::bit_cast<std::uint64_t>(task.fixed), &hash);
  const auto [at, is_new] = row_of_.try_emplace(hash, rows_.size());
  if (!is_new && Alike(rows_[at->second].first, task)) {
    std::vector<std::size_t>& tasks = rows_[at->second].tasks;
    if (tasks.size() < slots_.total()) tasks.push_back(number);  // more of them cannot run
    return;
  }
  at->second = rows_.size();
  rows_.push_back({task, {number}});
}

std::vector<NodeId> MapAssignment::ClosedTo(const Task& task) const {
  std::vector<NodeId> closed;
  if (!Constrained(task)) return closed;
  const JobState& job = *state_.FindJob(task.job);
  for (const NodeId bad : job.bad_nodes) {
    if (state_.Refused(job, bad)) closed.push_back(bad);
  }
  const auto& failed_on = job.failed_on[static_cast<std::size_t>(TaskKind::kMap)];
  for (auto at = failed_on.lower_bound({task.map, NodeId{0}}); at != failed_on.end() && at->first == task.map; ++at) {
    if (state_.Avoids(job, TaskKind::kMap, task.map, at->second)) closed.push_back(at->second);
  }
  std::sort(closed.begin(), closed.end());
  closed.erase(std::unique(closed.begin(), closed.end()), closed.end());
  return closed;
}

void MapAssignment::LocalCosts(const Row& row, std::vector<Assignment::PlaceCost>* costs) const {
  costs->clear();
  const std::vector<NodeId> closed = ClosedTo(row.first);
  for (const NodeId replica : InputOf(row.first).replicas) {
    if (replica.value >= state_.node_ids() || slots_.OfNode(replica) == Assignment::kNoPlace) continue;
    if (std::binary_search(closed.begin(), closed.end(), replica)) continue;
    costs->push_back({slots_.OfNode(replica), TransferCosts::Fixed(row.first.fixed)});
  }
}

Assignment::Cost MapAssignment::CheapestFixed(std::uint64_t tasks) const {
  std::vector<std::pair<Assignment::Cost, std::uint64_t>> fixed;
  for (const Row& row : rows_) fixed.emplace_back(TransferCosts::Fixed(row.first.fixed), row.tasks.size());
  std::sort(fixed.begin(), fixed.end());
  Assignment::Cost sum = 0;
  for (const auto& [cost, count] : fixed) {
    const std::uint64_t taken = std::min(tasks, count);
    sum += cost * static_cast<Assignment::Cost>(taken);
    tasks -= taken;
  }
  return sum;
}

std::optional<MapAssignment::Plan> MapAssignment::SolveLocally() const {
  Assignment problem = places_;
  std::vector<Assignment::PlaceCost> costs;
  std::vector<std::uint64_t> demand(slots_.size());
  std::uint64_t tasks = 0, placeable = 0;
  for (const Row& row : rows_) {
    LocalCosts(row, &costs);
    tasks += row.tasks.size();
    if (!costs.empty()) placeable += row.tasks.size();
    for (const auto& [place, cost] : costs) demand[place] += row.tasks.size();
    problem.AddRow(static_cast<std::uint32_t>(row.tasks.size()), costs);
  }
  const std::uint64_t wanted = std::min<std::uint64_t>(tasks, slots_.total());
  std::uint64_t useful = 0;  // slots
  for (const std::uint32_t id : state_.FreeNodes(TaskKind::kMap)) {
    useful += std::min<std::uint64_t>(demand[slots_.OfNode(NodeId{id})],
                                      IdleSlots::FreeMapSlots(*state_.FindNode(NodeId{id})));
  }
  if (std::min(placeable, useful) < wanted) return std::nullopt;
  const Assignment::Plan plan = problem.Solve();
  if (plan.tasks < wanted || plan.cost > CheapestFixed(wanted)) return std::nullopt;
  return PlanOf(plan.shares);
}

MapAssignment::Plan MapAssignment::Solve() const {
  if (auto local = SolveLocally()) return *std::move(local);
  TransferCosts::Options options = options_;
  const Bandwidths& measured = state_.bandwidths();
  const double partners = static_cast<double>(measured.node_pairs()) / std::max(1u, state_.node_ids()) +
                          static_cast<double>(measured.rack_pairs()) / std::max(1u, state_.topology().racks());
  options.far_pairs = options.far_pairs && static_cast<double>(rows_.size()) * partners <= kMaxCosts;
  TransferCosts costs(state_, slots_, options);
  Assignment problem = places_;
  for (const Row& row : rows_) {
    const Task& task = row.first;
    problem.AddRow(static_cast<std::uint32_t>(row.tasks.size()),
                   costs.Of({&InputOf(task), task.worst, task.weight, task.fixed, ClosedTo(task)}));
  }
  return PlanOf(problem.Solve().shares);
}

MapAssignment::Plan MapAssignment::PlanOf(const std::vector<Assignment::Share>& shares) const {
  Plan plan;
  std::size_t used = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto& [row, place, tasks] = shares[i];
    if (i == 0 || shares[i - 1].row != row) used = 0;
    const NodeId node{slots_.At(place).id};
    for (std::uint32_t n = 0; n < tasks; ++n) plan.placed.push_back({rows_[row].tasks[used++], node});
  }
  std::sort(plan.placed.begin(), plan.placed.end(),
            [](const Placed& a, const Placed& b) { return std::tie(a.node, a.task) < std::tie(b.node, b.task); });
  return plan;
}

}  // namespace millrace::sched
