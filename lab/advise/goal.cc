// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/goal.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace millrace::compare {
namespace {

constexpr std::pair<std::string_view, std::string_view> kGoals[] = {
    {"turnaround", "turnaround"}, {"makespan", "makespan"}, {"tail", "turnaround_p95"}, {"prediction", "foretold"},
    {"fairness", "distance"},     {"deadlines", "late"},    {"traffic", "rack_bytes"}};

}  // namespace

std::vector<std::string> GoalNames() {
  std::vector<std::string> names;
  for (const auto& [goal, key] : kGoals) names.emplace_back(goal);
  return names;
}

Result<const Metric*> MetricOfGoal(std::string_view goal, const sim::SimulationFile& history) {
  const auto* const at =
      std::find_if(std::begin(kGoals), std::end(kGoals), [&](const auto& g) { return g.first == goal; });
  if (at == std::end(kGoals)) {
    const std::optional<std::string> near = Nearest(std::string(goal), GoalNames());
    return Invalid("--goal: there is no goal " + Quote(goal) + "; " +
                   (near ? "did you mean " + *near + "?"
                         : "there are turnaround, makespan, tail, prediction, fairness, deadlines and traffic"));
  }
  std::string_view key = at->second;
  const std::vector<sim::SimJob>& jobs = history.workload.jobs;
  if (key == "late" && std::none_of(jobs.begin(), jobs.end(), [](const sim::SimJob& job) { return job.deadline > 0; }))
    return Invalid("--goal deadlines: no job has had a deadline");
  if (key == "rack_bytes") {
    std::set<std::string> datacenters;
    std::set<std::pair<std::string, std::string>> racks;
    for (const sim::NodeSpec& node : history.cluster.nodes)
      datacenters.insert(node.datacenter), racks.emplace(node.datacenter, node.rack);
    if (racks.size() < 2) return Invalid("--goal traffic: the cluster has one rack only, so nothing crosses racks");
    if (datacenters.size() > 1) key = "datacenter_bytes";
  }
  const Metric* metric = FindMetric(key);
  MILLRACE_CHECK(metric != nullptr, "a goal without a metric");
  return metric;
}

}  // namespace millrace::compare
