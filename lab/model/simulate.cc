// SPDX-License-Identifier: Apache-2.0
#include "lab/model/simulate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "lab/model/simulator.h"
#include "schedulers/events/limits.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sim {
namespace {

// A run beyond these limits would take forever and mean nothing.
constexpr double kMostBytes = 1e16;                      // the most input or map output of a job: 10 PB
constexpr Micros kLongestTask = 366 * 86'400 * kSecond;  // the longest time to compute

Status CheckSizes(const SimJob& job, const std::string& who) {
  double input = 0, output = 0;
  Micros longest = 0;
  for (const SimMap& map : job.maps) {
    input += static_cast<double>(map.bytes), output += static_cast<double>(map.output);
    longest = std::max(longest, map.cpu);
  }
  for (const SimReduce& reduce : job.reduces) longest = std::max(longest, reduce.cpu);
  if (input > kMostBytes) return Invalid(who + " reads more than 10 PB, which is more than any job does");
  if (output > kMostBytes) return Invalid(who + " has map outputs of more than 10 PB, which is more than any job has");
  if (!(job.map_cores >= 0 && job.reduce_cores >= 0)) return Invalid(who + " has tasks of fewer than 0 cores");
  if (longest > kLongestTask) return Invalid(who + " has a task that computes for more than a year");
  return Status::Ok();
}

// Checks that no job waits for its own end, by way of others.
Status CheckOrder(const Workload& workload) {
  std::vector<std::uint32_t> seen_from(workload.jobs.size(), 0);
  for (std::uint32_t begin = 0; begin < workload.jobs.size(); ++begin) {
    for (std::optional<std::uint32_t> job = begin; job && seen_from[*job] == 0; job = workload.jobs[*job].after) {
      seen_from[*job] = begin + 1;
      const std::optional<std::uint32_t>& after = workload.jobs[*job].after;
      if (after && seen_from[*after] == begin + 1)
        return Invalid("job " + std::to_string(*job) + " (" + Quote(workload.jobs[*job].name) + ") waits for job " +
                       std::to_string(*after) + " (" + Quote(workload.jobs[*after].name) +
                       "), which in the end waits for it; nothing would ever run");
    }
  }
  return Status::Ok();
}

Status CheckJob(const Workload& workload, std::uint32_t index, std::size_t nodes) {
  const SimJob& job = workload.jobs[index];
  const std::string who = "job " + std::to_string(index) + " (" + Quote(job.name) + ")";
  if (job.after && (*job.after >= workload.jobs.size() || *job.after == index))
    return Invalid(who + " waits for job " + std::to_string(*job.after) + ", which is the job itself");
  if (job.submit < 0) return Invalid(who + " is submitted at a negative time");
  if (job.maps.size() > sched::kMaxMaps) return Invalid(who + " has too many maps");
  if (job.reduces.size() > sched::kMaxReduces) return Invalid(who + " has too many reduces");
  if (!job.replicas.empty() && job.replicas.size() != job.maps.size())
    return Invalid(who + " gives places for " + std::to_string(job.replicas.size()) + " of " +
                   std::to_string(job.maps.size()) + " maps");
  for (const auto& replicas : job.replicas) {
    std::set<NodeId> distinct;
    for (const NodeId node : replicas) {
      if (node.value >= nodes)
        return Invalid(who + " has data on node " + std::to_string(node.value) + ", which does not exist");
      if (!distinct.insert(node).second)
        return Invalid(who + " has two replicas of one block on node " + std::to_string(node.value));
    }
  }
  return CheckSizes(job, who);
}

Status Check(const ClusterSpec& cluster, const Workload& workload) {
  if (cluster.nodes.empty()) return Invalid("the cluster has no nodes");
  if (workload.placement.replication == 0) return Invalid("the replication is 0");
  for (const NodeSpec& node : cluster.nodes) {
    if (!(node.speed > 0)) return Invalid("a node's speed is not above 0");
  }
  if (cluster.nodes_per_machine == 0) return Invalid("a machine has no nodes");
  if (!(cluster.cores >= 0)) return Invalid("a machine has fewer than 0 cores");
  MILLRACE_TRY(MachinesOf(cluster).status());
  for (const NodeFailure& failure : cluster.failures) {
    if (failure.node >= cluster.nodes.size())
      return Invalid("node " + std::to_string(failure.node) + ", which does not exist, is to fail");
  }
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
    MILLRACE_TRY(CheckJob(workload, job, cluster.nodes.size()));
  }
  return CheckOrder(workload);
}

// Checks that the scheduler takes the jobs' pools.
Status CheckPools(const Workload& workload, const sched::Policy& policy) {
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
    sched::JobSpec spec;
    spec.user = workload.jobs[job].user, spec.pool = workload.jobs[job].pool;
    const std::string why = policy.Refusal(spec);
    if (!why.empty())
      return Invalid("job " + std::to_string(job) + " (" + Quote(workload.jobs[job].name) + "): " + why);
  }
  return Status::Ok();
}

// Returns everything that decides how long the job takes alone: two jobs with the same value take the same time.
auto Likeness(const SimJob& job) {
  std::vector<std::tuple<std::uint64_t, Micros, std::uint64_t>> maps;
  std::vector<std::tuple<double, Micros>> reduces;
  for (const SimMap& map : job.maps) maps.emplace_back(map.bytes, map.cpu, map.output);
  for (const SimReduce& reduce : job.reduces) reduces.emplace_back(reduce.weight, reduce.cpu);
  return std::tuple(std::move(maps), std::move(reduces), job.slow_start, job.replicas, job.map_cores, job.reduce_cores);
}

}  // namespace

Result<SimResult> Simulate(const ClusterSpec& cluster, const Workload& workload, std::unique_ptr<sched::Policy> policy,
                           const sched::Settings& settings, const SimOptions& options) {
  MILLRACE_TRY(Check(cluster, workload));
  MILLRACE_TRY(CheckPools(workload, *policy));
  std::unique_ptr<outside::Adviser> adviser;
  if (const sched::Outside* outside = policy->outside(); outside != nullptr && !outside->terms().program.empty()) {
    MILLRACE_ASSIGN(adviser, StartAdviser(outside->terms(), options));
  }
  Simulator simulator(cluster, workload, std::move(policy), settings, options, std::move(adviser));
  return simulator.Run();
}

Result<SimResult> Simulate(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
                           const sched::Settings& settings, const SimOptions& options) {
  std::string why;
  auto policy = sched::MakePolicy(scheduler, settings, &why);
  if (policy == nullptr) return Invalid(why);
  return Simulate(cluster, workload, std::move(policy), settings, options);
}

Result<std::vector<Micros>> AloneTimes(const ClusterSpec& cluster, const Workload& workload,
                                       const SimOptions& options) {
  MILLRACE_TRY(Check(cluster, workload));
  ClusterSpec calm = cluster;
  calm.failures.clear();
  calm.failure_probability = calm.slow_share = 0;
  SimOptions plain;
  plain.seed = options.seed, plain.sample_interval = 0, plain.bandwidth_sample = 0;
  plain.exact_flows = options.exact_flows, plain.quantum_per_flow = options.quantum_per_flow;
  std::map<decltype(Likeness(std::declval<SimJob>())), Micros> known;
  std::vector<Micros> times;
  for (const SimJob& job : workload.jobs) {
    const auto [at, is_new] = known.try_emplace(Likeness(job), 0);
    if (is_new) {
      Workload one{"alone", {job}, workload.placement};
      one.jobs[0].submit = 0, one.jobs[0].after.reset();
      MILLRACE_ASSIGN(const SimResult result, Simulate(calm, one, "fifo", {}, plain));
      at->second = result.jobs[0].Ended() ? result.jobs[0].Turnaround() : 0;
    }
    times.push_back(at->second);
  }
  return times;
}

}  // namespace millrace::sim
