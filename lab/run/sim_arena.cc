// SPDX-License-Identifier: Apache-2.0
#include "lab/run/sim_arena.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::compare {
namespace {

constexpr std::uint64_t kMostTaskRows = 2'000'000;

sim::SimOptions OptionsOf(const sim::SimulationFile& file) {
  sim::SimOptions options;
  options.seed = file.seed;
  options.stop_at = file.stop_at;
  options.sample_interval = SampleInterval(file);
  options.task_rows = sim::TasksOf(file.workload) <= kMostTaskRows;
  return options;
}

}  // namespace

Micros SampleInterval(const sim::SimulationFile& file) {
  constexpr Micros kSamples = 200;
  double work = 0, slots = 0;
  std::optional<Micros> first, last;  // of those that come at a time of their own
  for (const sim::SimJob& job : file.workload.jobs) {
    if (!job.after) {
      first = std::min(first.value_or(job.submit), job.submit);
      last = std::max(last.value_or(job.submit), job.submit);
    }
    for (const sim::SimMap& map : job.maps) work += static_cast<double>(map.cpu);
    for (const sim::SimReduce& reduce : job.reduces) work += static_cast<double>(reduce.cpu);
  }
  for (const sim::NodeSpec& node : file.cluster.nodes) slots += node.slots.maps + node.slots.reduces;
  const Micros arriving = last.value_or(0) - first.value_or(0);
  const Micros least = std::max(arriving, static_cast<Micros>(work / std::max(slots, 1.0)));
  return std::clamp(least / kSamples, 100 * kMillisecond, sim::SimOptions{}.sample_interval);
}

Result<SimArena> SimArena::Make(DrawSimulation draw, std::uint64_t seed, bool slowdowns, outside::Launch launch) {
  SimArena arena(std::move(draw), slowdowns, std::move(launch));
  MILLRACE_TRY(arena.Draw(seed));
  return arena;
}

Status SimArena::Draw(std::uint64_t seed) {
  MILLRACE_ASSIGN(file_, draw_(seed));
  seed_ = seed;
  alone_.clear();
  if (!slowdowns_) return Status::Ok();
  MILLRACE_ASSIGN(alone_, sim::AloneTimes(file_.cluster, file_.workload, OptionsOf(file_)));
  return Status::Ok();
}

std::vector<NodeRow> SimArena::Nodes() const {
  std::vector<NodeRow> rows;
  for (std::uint32_t node = 0; node < file_.cluster.nodes.size(); ++node) {
    const sim::NodeSpec& spec = file_.cluster.nodes[node];
    rows.push_back({ToText(NodeId{node}), spec.rack, spec.datacenter, spec.slots.maps, spec.slots.reduces});
  }
  return rows;
}

Result<RunOutcome> SimArena::Run(const RunRequest& request) {
  if (request.seed != seed_) MILLRACE_TRY(Draw(request.seed));
  sim::SimOptions options = OptionsOf(file_);
  options.alone = alone_;
  options.launch = launch_;
  RunOutcome outcome;
  const sched::Variant& variant = request.scheduler;
  MILLRACE_ASSIGN(outcome.result,
                  sim::Simulate(file_.cluster, file_.workload, variant.scheduler, variant.settings, options));
  if (outcome.result.relief)
    return Invalid(variant.label + ": its program was relieved: " + outcome.result.relief->why);
  outcome.result.scheduler = variant.label;
  return outcome;
}

}  // namespace millrace::compare
