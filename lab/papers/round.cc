// SPDX-License-Identifier: Apache-2.0
#include "lab/papers/round.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/ids/counted.h"
#include "base/random.h"
#include "lab/workload/block_placer.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/lsap/lsap_settings.h"

namespace millrace::sim::experiments {
namespace {

constexpr double kBlock = 64e6;  // the bytes of a task's input
constexpr double kFar = 4;       // the cost between racks, as a multiple of the cost within one

double Gaussian(Random* random, double mean, double deviation) {
  const double radius = std::sqrt(-2 * std::log(1 - random->Unit()));
  return mean + deviation * radius * std::cos(2 * std::numbers::pi * random->Unit());
}

// Returns `count` of the numbers below `n`, all equally likely, in the order drawn. Requires: count <= n.
std::vector<std::uint32_t> Choose(Random* random, std::uint32_t n, std::uint32_t count) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  for (std::uint32_t i = 0; i < count; ++i) std::swap(all[i], all[i + random->Below(n - i)]);
  all.resize(count);
  return all;
}

// Returns a factor around 1. A transfer takes some time, so a value below a twentieth is drawn again.
double DrawFactor(Random* random) {
  for (;;) {
    const double factor = Gaussian(random, 1.0, 0.5);
    if (factor >= 0.05) return factor;
  }
}

std::string GroupName(std::uint32_t group) { return "g" + std::to_string(group); }

double Distance(const std::vector<std::uint32_t>& running, const std::vector<double>& weights) {
  if (weights.empty()) return 0;
  double total = 0;
  double all_weights = 0;
  for (std::size_t g = 0; g < weights.size(); ++g) {
    total += running[g];
    all_weights += weights[g];
  }
  double sum = 0;
  for (std::size_t g = 0; g < weights.size(); ++g) {
    const double weight = weights[g] / all_weights;
    sum += std::abs(running[g] / total - weight) / weight;
  }
  return sum / static_cast<double>(weights.size());
}

}  // namespace

// The engine with the cluster as it stands before the round.
struct Round::Play {
  const Round& round;
  sched::Engine engine;
  sched::Effects effects = {};
  std::uint32_t jobs = 0;

  void Apply(const sched::Event& event) {
    MILLRACE_CHECK(engine.Apply(0, event, &effects), "the engine refuses an event of the experiment");
  }
  JobId Submit(std::uint32_t group, std::vector<sched::MapInput> maps) {
    const JobId job{jobs++};
    sched::JobSpec spec;
    spec.pool = GroupName(group);
    spec.maps = std::move(maps);
    Apply(sched::JobSubmitted{job, std::move(spec)});
    return job;
  }
  void JoinNodes();
  void StartRunning();
  void MeasureBandwidths();
};

Round::Round(const RoundSpec& spec, RoundCosts costs, std::uint64_t seed)
    : spec_(spec), costs_(costs), seed_(seed), idle_(spec.nodes) {
  Random random(MixSeeds(seed, spec.nodes, spec.replication, spec.tasks));
  const auto groups = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(spec.groups.size()));
  const std::uint32_t slots = spec.nodes * spec.slots;
  for (const std::uint32_t slot : Choose(&random, slots, spec.idle)) ++idle_[slot / spec.slots];
  running_.resize(groups);
  for (std::uint32_t busy = spec.idle; busy < slots; ++busy) ++running_[random.Below(groups)];
  tasks_.resize(spec.tasks);
  for (Task& task : tasks_) {
    task.group = static_cast<std::uint32_t>(random.Below(groups));
    if (costs == RoundCosts::kByTask) task.size = DrawFactor(&random);
    for (const std::uint32_t node : Choose(&random, spec.nodes, spec.replication)) {
      task.replicas.push_back(NodeId{node});
    }
  }
}

bool Round::SameRack(NodeId a, NodeId b) const {
  return spec_.rack_nodes == 0 || a.value / spec_.rack_nodes == b.value / spec_.rack_nodes;
}

double Round::PairCost(NodeId from, NodeId to) const {
  if (costs_ == RoundCosts::kEqual) return 1;
  const double distance = SameRack(from, to) ? 1 : kFar;
  if (costs_ == RoundCosts::kByTask) return distance;
  Random random(MixSeeds(seed_, 1, from.value, to.value));
  return distance * DrawFactor(&random);
}

double Round::TaskCost(const Task& task, NodeId node) const {
  double least = std::numeric_limits<double>::infinity();
  for (const NodeId replica : task.replicas) {
    least = std::min(least, replica == node ? 0 : task.size * PairCost(replica, node));
  }
  return least;
}

double Round::LocalTaskByTask() const {
  std::vector<std::uint32_t> idle = idle_;
  double local = 0;
  for (const Task& task : tasks_) {
    const auto at =
        std::find_if(task.replicas.begin(), task.replicas.end(), [&](NodeId node) { return idle[node.value] > 0; });
    if (at == task.replicas.end()) continue;
    --idle[at->value];
    ++local;
  }
  return local / static_cast<double>(tasks_.size());
}

void Round::Play::JoinNodes() {
  const RoundSpec& spec = round.spec_;
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    const std::uint32_t rack = spec.rack_nodes == 0 ? 0 : n / spec.rack_nodes;
    Apply(sched::NodeJoined{NodeId{n}, "r" + std::to_string(rack), "dc0", {spec.slots, 0}});
  }
}

void Round::Play::StartRunning() {
  std::vector<NodeId> busy;
  for (std::uint32_t n = 0; n < round.spec_.nodes; ++n) {
    busy.insert(busy.end(), round.spec_.slots - round.idle_[n], NodeId{n});
  }
  for (std::uint32_t g = 0; g < round.running_.size(); ++g) {
    if (round.running_[g] == 0) continue;
    const JobId job = Submit(g, std::vector<sched::MapInput>(round.running_[g]));
    for (std::uint32_t i = 0; i < round.running_[g]; ++i) {
      Apply(sched::AttemptLaunched{{{job, TaskKind::kMap, i}, 0}, busy.back()});
      busy.pop_back();
    }
  }
}

void Round::Play::MeasureBandwidths() {
  std::vector<bool> holds(round.spec_.nodes);
  for (const Task& task : round.tasks_) {
    for (const NodeId replica : task.replicas) holds[replica.value] = true;
  }
  for (std::uint32_t from = 0; from < round.spec_.nodes; ++from) {
    for (std::uint32_t to = 0; to < round.spec_.nodes; ++to) {
      if (from == to || !holds[from] || round.idle_[to] == 0) continue;
      const double cost = round.PairCost(NodeId{from}, NodeId{to});
      Apply(
          sched::BandwidthMeasured{NodeId{from}, NodeId{to}, static_cast<std::uint64_t>(std::llround(kBlock / cost))});
    }
  }
}

RoundResult Round::Run(const std::string& policy, sched::Settings settings) const {
  auto& lsap = settings.Of<sched::LsapSettings>();
  lsap.batch_window = 0;
  lsap.bandwidths = {kBlock, kBlock, kBlock};
  if (costs_ != RoundCosts::kEqual) lsap.bandwidths.datacenter = kBlock / kFar;
  for (std::uint32_t g = 0; g < spec_.groups.size(); ++g)
    settings.Named<sched::PoolSettings>()[GroupName(g)].weight = spec_.groups[g];
  std::string why;
  std::unique_ptr<sched::Policy> made = sched::MakePolicy(policy, settings, &why);
  MILLRACE_CHECK(made != nullptr, why);
  Play play{*this, sched::Engine({}, std::move(made))};
  play.JoinNodes();
  play.StartRunning();
  if (costs_ == RoundCosts::kByPair) play.MeasureBandwidths();
  const std::uint32_t first = play.jobs;
  std::vector<std::vector<const Task*>> waiting(running_.size());
  for (const Task& task : tasks_) waiting[task.group].push_back(&task);
  for (std::uint32_t g = 0; g < waiting.size(); ++g) {
    std::vector<sched::MapInput> maps;
    for (const Task* task : waiting[g])
      maps.push_back({static_cast<std::uint64_t>(kBlock * task->size), task->replicas});
    play.Submit(g, std::move(maps));
  }
  play.effects.clear();
  play.engine.Decide(0, &play.effects);
  RoundResult result;
  std::vector<std::uint32_t> running = running_;
  for (const sched::Effect& effect : play.effects) {
    const auto* launch = std::get_if<sched::Launch>(&effect);
    if (launch == nullptr) continue;
    const std::uint32_t group = launch->attempt.task.job.value - first;
    ++result.launched;
    ++running[group];
    result.cost += TaskCost(*waiting[group][launch->attempt.task.index], launch->node);
    if (launch->locality == Locality::kNode) result.local += 1;
  }
  if (result.launched > 0) result.local /= result.launched;
  result.distance_before = Distance(running_, spec_.groups);
  result.distance_after = Distance(running, spec_.groups);
  return result;
}

std::string Placements(std::uint32_t count) { return Counted(count, "placement"); }

}  // namespace millrace::sim::experiments
