// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/lsap_fair.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace millrace::sched {

LsapFair::LsapFair(std::string name, const Settings& settings, Admission admission)
    : Lsap(std::move(name), settings.Of<LsapSettings>(), Cost::kMeasured, std::move(admission)),
      pools_(settings.Named<PoolSettings>()),
      default_pool_(settings.Of<PoolDefaults>().pool) {}

void LsapFair::OnJobSubmitted(const ClusterState& state, JobId job) {
  const std::string& name = state.FindJob(job)->spec.PoolName();
  const auto [at, is_new] = number_of_.try_emplace(name, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) {
    const auto pool = pools_.find(name);
    groups_.push_back({name, pool == pools_.end() ? default_pool_.weight : pool->second.weight});
  }
  ++groups_[at->second].jobs;
  counted_[job] = {at->second};
  CountNow(*state.FindJob(job));
  Lsap::OnJobSubmitted(state, job);
}

void LsapFair::OnJobChanged(const ClusterState& state, JobId job) {
  CountNow(*state.FindJob(job));
  Lsap::OnJobChanged(state, job);
}

void LsapFair::OnJobEnded(const ClusterState& state, JobId job) {
  --groups_[GroupOf(job)].jobs;
  Count(*state.FindJob(job), 0, false);
  Lsap::OnJobEnded(state, job);
  counted_.Erase(job);
}

void LsapFair::Count(const JobState& job, std::uint32_t running, bool waiting) {
  const std::pair<Micros, JobId> entry(job.progress.submitted, job.progress.job);
  Counted& counted = counted_.At(job.progress.job);
  Group& group = groups_[counted.group];
  group.running += running - counted.running;
  counted.running = running;
  if (std::exchange(counted.waiting, waiting) == waiting) return;
  if (waiting)
    group.waiting.insert(entry);
  else
    group.waiting.erase(entry);
}

std::optional<CandidateGroups> LsapFair::Groups() const {
  const auto count = static_cast<std::uint32_t>(groups_.size());
  return CandidateGroups{count, [this](JobId job) { return GroupOf(job); }};
}

std::vector<LsapFair::Standing> LsapFair::Standings(const ClusterState& state) const {
  std::vector<Standing> standings(groups_.size());
  double weights = 0;
  for (const Group& group : groups_) weights += group.jobs > 0 ? group.weight : 0;
  double running = 0;
  for (const Group& group : groups_) running += group.running;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].jobs == 0) continue;
    Standing& group = standings[i];
    group.share = groups_[i].weight / weights;
    const double due = group.share * state.Capacity(TaskKind::kMap) - groups_[i].running;
    group.to_occupy = static_cast<std::uint32_t>(std::max(0.0, due + 1e-9));
    group.cost_within = running > 0 ? 100 * (groups_[i].running / running) / group.share : 0;
    group.cost_beyond = (1 - group.share) * settings().beta;
    if (group.share == 1) group.cost_beyond = group.cost_within;
  }
  return standings;
}

double LsapFair::Ageing(Micros waited) const {
  const auto half_life = static_cast<double>(settings().ageing_half_life);
  if (half_life <= 0) return 1;
  const double quarters = std::floor(4 * static_cast<double>(waited) / half_life);
  return std::exp2(-quarters / 4);
}

void LsapFair::Price(const ClusterState& state, Micros now, std::vector<Task>* tasks) const {
  const std::vector<Standing> standings = Standings(state);
  std::vector<std::uint32_t> left;
  for (const Standing& group : standings) left.push_back(group.to_occupy);
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  std::vector<bool> local;
  local.reserve(tasks->size());
  for (const Task& task : *tasks) {
    const auto& replicas = state.FindJob(task.job)->spec.maps[task.map].replicas;
    local.push_back(
        std::any_of(replicas.begin(), replicas.end(), [&](NodeId node) { return free.Contains(node.value); }));
  }
  for (const bool first : {true, false}) {
    std::optional<JobId> job;
    double ageing = 1;
    for (std::size_t i = 0; i < tasks->size(); ++i) {
      if (local[i] != first) continue;
      Task& task = (*tasks)[i];
      if (std::exchange(job, task.job) != task.job) ageing = Ageing(now - state.FindJob(task.job)->progress.submitted);
      const std::uint32_t group = GroupOf(task.job);
      const bool within = left[group] > 0;
      if (within) --left[group];
      task.weight = ageing * settings().alpha;
      task.fixed = ageing * (within ? standings[group].cost_within : standings[group].cost_beyond);
    }
  }
}

// No map costs less than the lower of its group's prices at the age of the group's oldest job, and one that has to
// fetch its input costs more.
std::optional<PendingMap> LsapFair::CheapestAtData(const ClusterState& state, Micros now, NodeId node) const {
  const std::vector<Standing> standings = Standings(state);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto& waiting = groups_[i].waiting;
    if (waiting.empty()) continue;
    const Standing& group = standings[i];
    const double lower = group.to_occupy > 0 ? std::min(group.cost_within, group.cost_beyond) : group.cost_beyond;
    least = std::min(least, Ageing(now - waiting.begin()->first) * lower);
  }
  std::vector<bool> seen(groups_.size());
  std::optional<PendingMap> cheapest;
  state.VisitLocalJobs(node, [&](JobId id) {
    const std::uint32_t number = GroupOf(id);
    if (seen[number]) return true;
    seen[number] = true;
    const JobState& job = *state.FindJob(id);
    if (job.live_bad_nodes > 0 || !job.failed_on[kMaps].empty()) return false;  // may be kept from the node
    const Standing& group = standings[number];
    const double cost =
        Ageing(now - job.progress.submitted) * (group.to_occupy > 0 ? group.cost_within : group.cost_beyond);
    if (TransferCosts::Fixed(cost) > TransferCosts::Fixed(least)) return true;
    job.pending_maps.VisitAt(node, [&](std::uint32_t map) {
      cheapest = PendingMap{id, map};
      return false;
    });
    return false;
  });
  return cheapest;
}

PolicyView LsapFair::View(const ClusterState& state, Micros now) const {
  PolicyView view = Lsap::View(state, now);
  view.group_noun = "group";
  const std::vector<Standing> standings = Standings(state);
  std::vector<std::uint32_t> demand(groups_.size());
  std::vector<std::vector<JobId>> jobs(groups_.size());
  for (const QueueKey& key : state.LiveJobs()) {
    jobs[GroupOf(key.job)].push_back(key.job);
    demand[GroupOf(key.job)] += state.FindJob(key.job)->Demand(TaskKind::kMap);
  }
  for (const auto& [name, number] : number_of_) {
    if (groups_[number].jobs == 0) continue;
    GroupView& group = view.groups.emplace_back(GroupView{name, groups_[number].weight, jobs[number], {}});
    group.slots[kMaps].running = groups_[number].running;
    group.slots[kMaps].demand = demand[number];
    group.slots[kMaps].share = standings[number].share * state.Capacity(TaskKind::kMap);
  }
  return view;
}

}  // namespace millrace::sched
