// SPDX-License-Identifier: Apache-2.0
#include "lab/run/sim_arena.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lab/run/foretelling.h"

namespace millrace::compare {
namespace {

constexpr std::uint64_t kMostTaskRows = 2'000'000;

sim::SimOptions OptionsOf(const sim::SimulationFile& file) {
  sim::SimOptions options;
  options.seed = file.seed;
  options.stop_at = file.stop_at;
  options.sample_interval = SampleInterval(file);
  return options;
}

Result<RunOutcome> Simulate(const sim::SimulationFile& file, const sched::Variant& variant, sim::SimOptions options,
                            bool foretells) {
  RunOutcome outcome;
  Foretelling foretelling(variant.scheduler, file.workload.jobs.size());
  if (foretells) options.watch = &foretelling;
  MILLRACE_ASSIGN(outcome.result,
                  sim::Simulate(file.cluster, file.workload, variant.scheduler, variant.settings, options));
  foretelling.Write(&outcome.result);
  if (outcome.result.relief)
    return Invalid(variant.label + ": its program was relieved: " + outcome.result.relief->why);
  outcome.result.scheduler = variant.label;
  return outcome;
}

}  // namespace

Result<RunOutcome> SimulateOnce(const sim::SimulationFile& file, const sched::Variant& variant, SimExtras extras) {
  return Simulate(file, variant, OptionsOf(file), extras.foretelling);
}

SimExtras ExtrasFor(const std::vector<std::string>& metrics) {
  // A metric may be of a group: "foretold/alert".
  const auto has = [&](const char* key) {
    return std::ranges::any_of(metrics, [&](const std::string& one) { return one.substr(0, one.find('/')) == key; });
  };
  return {.slowdowns = has("slowdown") || has("bounded_slowdown"), .foretelling = has("foretold")};
}

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

Result<SimArena> SimArena::Make(DrawSimulation draw, std::uint64_t seed, SimExtras extras, outside::Launch launch) {
  SimArena arena(std::move(draw), extras, std::move(launch));
  MILLRACE_TRY(arena.Draw(seed));
  return arena;
}

Status SimArena::Draw(std::uint64_t seed) {
  MILLRACE_ASSIGN(file_, draw_(seed));
  seed_ = seed;
  alone_.clear();
  if (!extras_.slowdowns) return Status::Ok();
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
  options.task_rows = sim::TasksOf(file_.workload) <= kMostTaskRows;
  options.alone = alone_;
  options.launch = launch_;
  return Simulate(file_, request.scheduler, std::move(options), extras_.foretelling);
}

}  // namespace millrace::compare
