#include "client/compare/sim_arena.h"

#include <utility>

namespace millrace::compare {
namespace {

constexpr std::uint64_t kMostTaskRows = 2'000'000;

sim::SimOptions OptionsOf(const sim::SimulationFile& file) {
  sim::SimOptions options;
  options.seed = file.seed;
  options.stop_at = file.stop_at;
  options.task_rows = sim::TasksOf(file.workload) <= kMostTaskRows;
  return options;
}

}  // namespace

Result<SimArena> SimArena::Make(DrawSimulation draw, std::uint64_t seed, Options options) {
  SimArena arena(std::move(draw), std::move(options));
  MILLRACE_TRY(arena.Draw(seed));
  return arena;
}

Status SimArena::Draw(std::uint64_t seed) {
  MILLRACE_ASSIGN(file_, draw_(seed));
  seed_ = seed;
  alone_.clear();
  if (!options_.slowdowns) return Status::Ok();
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
  RunOutcome outcome;
  MILLRACE_ASSIGN(outcome.result,
                  sim::Simulate(file_.cluster, file_.workload, request.scheduler, options_.settings, options));
  return outcome;
}

}  // namespace millrace::compare
