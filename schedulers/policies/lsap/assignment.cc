// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/assignment.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <tuple>

#include "schedulers/events/check.h"
#include "schedulers/policies/lsap/transport.h"

namespace millrace::sched {
namespace {

void MergeShares(std::vector<Assignment::Share>* shares) {
  const auto key = [](const Assignment::Share& share) { return std::tie(share.row, share.place); };
  std::sort(shares->begin(), shares->end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (const Assignment::Share& share : *shares) {
    if (kept > 0 && key((*shares)[kept - 1]) == key(share))
      (*shares)[kept - 1].tasks += share.tasks;
    else
      (*shares)[kept++] = share;
  }
  shares->resize(kept);
}

}  // namespace

Assignment::Place Assignment::AddPlace(Place above, std::uint32_t slots) {
  SCHED_CHECK(above == kNoPlace || above < places_.size(), std::to_string(above));
  SCHED_CHECK(tasks_.empty(), "a place after the first row");
  if (above == kNoPlace) ++roots_;
  slots_ += slots;
  SCHED_CHECK(slots_ <= kMaxUnits, std::to_string(slots_));
  places_.push_back({above, slots, kNoPlace, 0});
  return static_cast<Place>(places_.size() - 1);
}

Assignment::Row Assignment::AddRow(std::uint32_t tasks, std::span<const PlaceCost> costs) {
  const auto row = static_cast<Row>(tasks_.size());
  all_tasks_ += tasks;
  SCHED_CHECK(all_tasks_ <= kMaxUnits, std::to_string(all_tasks_));
  tasks_.push_back(tasks);
  if (tasks == 0) return row;
  std::uint32_t roots = 0;
  for (const auto& [place, cost] : costs) {
    SCHED_CHECK(place < places_.size() && cost >= 0 && cost <= kMaxCost,
                std::to_string(cost) + " at place " + std::to_string(place));
    PlaceInfo& info = places_[place];
    if (info.last_row == row) {
      costs_[info.last_cost].cost = std::min(costs_[info.last_cost].cost, cost);
      continue;
    }
    info.last_row = row;
    info.last_cost = static_cast<std::uint32_t>(costs_.size());
    costs_.push_back({row, place, cost});
    max_cost_ = std::max(max_cost_, cost);
    if (info.above == kNoPlace) ++roots;
  }
  anywhere_ = anywhere_ && roots == roots_;
  return row;
}

// This is the transport problem. The smaller side is the source, so that all of it is shipped and the dummies are on
// the other side, where they are nothing but room that is left.
class Assignment::Network {
 public:
  explicit Network(const Assignment& problem);
  Plan Solve();

 private:
  void ShipFrom(Transport::Vertex vertex, std::uint32_t units);
  void AddArc(Transport::Vertex from, Transport::Vertex to, Cost cost) {
    if (by_task_)
      transport_.AddArc(from, to, cost);
    else
      transport_.AddArc(to, from, cost);
  }
  std::vector<RowCost> UsefulCosts() const;
  void KeepCheapest(std::span<RowCost> costs, std::vector<RowCost>* useful) const;
  std::vector<std::vector<Share>> Arrivals(Plan* plan) const;
  Transport::Vertex Of(Place place) const { return static_cast<Transport::Vertex>(problem_.tasks_.size() + place); }
  Transport::Vertex Nowhere() const { return Of(static_cast<Place>(problem_.places_.size())); }

  const Assignment& problem_;
  const bool by_task_;  // the tasks are the source
  Transport transport_;
  // This is the arc of slots that stay empty, including those of places below.
  struct Idle {
    Place place;
    std::uint32_t arc;
  };
  static constexpr Row kNobody = 0xffffffff;
  std::vector<Idle> idle_;
  std::vector<RowCost> costs_;  // arcs 0 to costs_.size() - 1; then one for each place with another above it
};

Assignment::Network::Network(const Assignment& problem)
    : problem_(problem),
      by_task_(problem.all_tasks_ <= problem.slots_),
      transport_(static_cast<std::uint32_t>(problem.tasks_.size() + problem.places_.size() + 1)),
      costs_(UsefulCosts()) {
  transport_.ReserveArcs(costs_.size() + problem.places_.size());
  for (const RowCost& cost : costs_) AddArc(cost.row, Of(cost.place), cost.cost);
  for (Place place = 0; place < problem.places_.size(); ++place) {
    const Place above = problem.places_[place].above;
    if (above != kNoPlace) AddArc(Of(above), Of(place), 0);
  }
  if (!problem.anywhere_) transport_.SetRoom(Nowhere(), static_cast<std::uint32_t>(kMaxUnits));
  for (Row row = 0; row < problem.tasks_.size(); ++row) {
    if (by_task_)
      ShipFrom(row, problem.tasks_[row]);
    else
      transport_.SetRoom(row, problem.tasks_[row]);
  }
  for (Place place = 0; place < problem.places_.size(); ++place) {
    if (by_task_)
      transport_.SetRoom(Of(place), problem.places_[place].slots);
    else
      ShipFrom(Of(place), problem.places_[place].slots);
  }
}

// Tasks that cannot run take an arc of their own, at more than any plan costs.
void Assignment::Network::ShipFrom(Transport::Vertex vertex, std::uint32_t units) {
  transport_.SetSupply(vertex, units);
  if (units == 0 || problem_.anywhere_) return;
  const auto plan_units = static_cast<Cost>(std::min(problem_.slots_, problem_.all_tasks_));
  const std::uint32_t arc = transport_.AddArc(vertex, Nowhere(), (problem_.max_cost_ + 1) * (plan_units + 1));
  if (!by_task_) idle_.push_back({vertex - Of(0), arc});
}

// With S slots, none of the tasks behind the S cheapest at a place need run there: one of those is free to do it.
std::vector<Assignment::RowCost> Assignment::Network::UsefulCosts() const {
  if (by_task_) return problem_.costs_;
  std::vector<std::uint64_t> demand(problem_.places_.size());
  for (const RowCost& cost : problem_.costs_) demand[cost.place] += problem_.tasks_[cost.row];
  std::vector<RowCost> useful;
  std::vector<std::uint32_t> end(problem_.places_.size());  // in crowded, by place
  for (const RowCost& cost : problem_.costs_) {
    if (demand[cost.place] > problem_.slots_)
      ++end[cost.place];
    else
      useful.push_back(cost);
  }
  std::exclusive_scan(end.begin(), end.end(), end.begin(), 0u);
  std::vector<RowCost> crowded(problem_.costs_.size() - useful.size());
  for (const RowCost& cost : problem_.costs_) {
    if (demand[cost.place] > problem_.slots_) crowded[end[cost.place]++] = cost;
  }
  std::uint32_t begin = 0;
  for (const std::uint32_t stop : end) {
    KeepCheapest(std::span(crowded).subspan(begin, stop - begin), &useful);
    begin = stop;
  }
  return useful;
}

// At one place it keeps the costs of the cheapest rows that together have as many tasks as there are slots.
void Assignment::Network::KeepCheapest(std::span<RowCost> costs, std::vector<RowCost>* useful) const {
  const auto cheaper = [](const RowCost& a, const RowCost& b) {
    return std::tie(a.cost, a.row) < std::tie(b.cost, b.row);
  };
  const auto most = costs.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(problem_.slots_, costs.size()));
  if (most != costs.end()) std::nth_element(costs.begin(), most, costs.end(), cheaper);
  std::sort(costs.begin(), most, cheaper);
  std::uint64_t before = 0;
  for (auto cost = costs.begin(); cost != most && before < problem_.slots_; ++cost) {
    useful->push_back(*cost);
    before += problem_.tasks_[cost->row];
  }
}

// Returns by place what comes there from rows and stays, or goes on to places below.
std::vector<std::vector<Assignment::Share>> Assignment::Network::Arrivals(Plan* plan) const {
  std::vector<std::vector<Share>> arrivals(problem_.places_.size());
  for (std::uint32_t arc = 0; arc < costs_.size(); ++arc) {
    const std::uint32_t tasks = transport_.Flow(arc);
    if (tasks == 0) continue;
    arrivals[costs_[arc].place].push_back({costs_[arc].row, costs_[arc].place, tasks});
    plan->cost += costs_[arc].cost * tasks;
    plan->tasks += tasks;
  }
  for (const auto& [place, arc] : idle_) {
    if (transport_.Flow(arc) > 0) arrivals[place].push_back({kNobody, place, transport_.Flow(arc)});
  }
  return arrivals;
}

Assignment::Plan Assignment::Network::Solve() {
  transport_.Solve();
  Plan plan;
  std::vector<std::vector<Share>> arrivals = Arrivals(&plan);
  std::vector<std::uint32_t> passing(problem_.places_.size());  // down into a place
  auto arc = static_cast<std::uint32_t>(costs_.size());
  for (Place place = 0; place < problem_.places_.size(); ++place) {
    if (problem_.places_[place].above != kNoPlace) passing[place] = transport_.Flow(arc++);
  }
  std::vector<std::size_t> gone(problem_.places_.size());  // how many of the first arrivals have left downwards
  for (Place place = 0; place < problem_.places_.size(); ++place) {
    const Place above = problem_.places_[place].above;
    while (passing[place] > 0) {
      Share& share = arrivals[above][gone[above]];
      const std::uint32_t tasks = std::min(share.tasks, passing[place]);
      arrivals[place].push_back({share.row, place, tasks});
      passing[place] -= tasks;
      share.tasks -= tasks;
      if (share.tasks == 0) ++gone[above];
    }
  }
  for (Place place = 0; place < problem_.places_.size(); ++place) {
    const std::vector<Share>& here = arrivals[place];
    plan.shares.insert(plan.shares.end(), here.begin() + static_cast<std::ptrdiff_t>(gone[place]), here.end());
  }
  std::erase_if(plan.shares, [](const Share& share) { return share.row == kNobody; });
  MergeShares(&plan.shares);
  return plan;
}

Assignment::Plan Assignment::Solve() const {
  if (slots_ == 0 || all_tasks_ == 0) return {};
  return Network(*this).Solve();
}

}  // namespace millrace::sched
