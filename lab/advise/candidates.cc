// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/candidates.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/ids/job.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"

namespace millrace::compare {
namespace {

// The features of a history that schedulers work on.
struct Matter {
  bool deadlines = false, queues = false, datacenters = false, places = false, reduces = false, pools = false;
  bool cores = false, integral = false;
};

bool ReadsFromCluster(const sim::SimJob& job) {
  for (std::size_t i = 0; i < job.maps.size(); ++i) {
    if (job.maps[i].bytes > 0 && (job.replicas.empty() || !job.replicas[i].empty())) return true;
  }
  return false;
}

Matter MatterOf(const sim::SimulationFile& history, const sched::Settings& settings) {
  std::set<std::string> datacenters, pools;
  Matter matter;
  for (const sim::NodeSpec& node : history.cluster.nodes) datacenters.insert(node.datacenter);
  for (const sim::SimJob& job : history.workload.jobs) {
    pools.insert(PoolOf(job.pool, job.user));
    matter.deadlines = matter.deadlines || job.deadline > 0;
    matter.reduces = matter.reduces || !job.reduces.empty();
    matter.places = matter.places || ReadsFromCluster(job);
  }
  matter.places = matter.places && history.cluster.nodes.size() > 1;
  // Simulations of jobs that name a missing queue would be refused.
  const auto& queues = settings.Named<sched::QueueSettings>();
  matter.queues = !queues.empty();
  for (const sim::SimJob& job : history.workload.jobs) {
    const bool is_queue = job.pool.empty() || job.pool == "default" || queues.contains(job.pool);
    matter.queues = matter.queues && is_queue;
  }
  matter.datacenters = datacenters.size() > 1;
  matter.cores = !SlotsCostNothing(history);
  matter.pools = pools.size() > 1;
  for (const std::string& pool : pools)
    matter.integral |= sched::SettingsOfPool(settings, pool).integral != sched::IntegralKind::kNone;
  return matter;
}

bool Fits(std::string_view policy, const Matter& matter) {
  if (policy == sched::kExternal) return false;  // nothing without a program
  if (policy == "edf" || policy == "cp") return matter.deadlines;
  if (policy == "capacity") return matter.queues;
  if (policy.starts_with("joss")) return matter.datacenters && matter.places;
  if (TurnsSlots(policy)) return matter.cores;
  if (policy == "uwfq" || policy == "karma") return matter.pools;  // who share with others
  if (policy == "integral") return matter.integral;
  if (policy == "dl" || policy.starts_with("lsap")) return matter.places;
  return true;
}

}  // namespace

bool SlotsCostNothing(const sim::SimulationFile& history) {
  const bool asleep = std::ranges::all_of(history.workload.jobs, [](const sim::SimJob& job) {
    return (job.maps.empty() || job.map_cores == 0) && (job.reduces.empty() || job.reduce_cores == 0);
  });
  if (asleep) return false;  // they cost nothing, and none of them would anywhere
  const Result<sim::Machines> machines = sim::MachinesOf(history.cluster);
  return !machines.ok() || std::ranges::any_of(machines->cores, [](double cores) { return cores == 0; });
}

bool TurnsSlots(std::string_view scheduler) { return scheduler.starts_with("fresh-"); }

std::vector<std::string> CandidatesFor(const sim::SimulationFile& history, const sched::Settings& settings) {
  const Matter matter = MatterOf(history, settings);
  std::vector<std::string> names;
  for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
    if (Fits(policy.name, matter)) names.push_back(policy.name);
  }
  if (matter.places) names.insert(names.end(), {"fifo+delay", "fair+delay"});
  if (matter.reduces) names.emplace_back("fair+ccs");
  if (matter.places && matter.reduces) names.emplace_back("fair+delay+ccs");
  if (matter.pools) names.insert(names.end(), {"fair+memory", "fair+preempt"});
  return names;
}

}  // namespace millrace::compare
