#include "schedulers/sim/model/run_state.h"

#include <utility>

#include "schedulers/core/policy.h"

namespace millrace::sim {

namespace {

sched::EngineOptions WithoutPolicies(sched::EngineOptions options) {
  options.make_policy = nullptr;
  return options;
}

}  // namespace

RunState::RunState(const ClusterSpec& of, const Workload& workload, std::unique_ptr<sched::Policy> policy,
                   const sched::Settings& settings, const SimOptions& with)
    : cluster(of),
      options(with),
      network(options.exact_flows, options.quantum_per_flow),
      fabric(cluster, &network),
      recorder(workload, options.alone, settings, static_cast<std::uint32_t>(cluster.nodes.size()), options.task_rows),
      engine(WithoutPolicies(options.engine), std::move(policy)),
      processors(cluster, &queue),
      jobs(workload.jobs.size()),
      nodes(cluster.nodes.size()) {}

void RunState::StartFlow(SlotId slot, const std::vector<LinkUse>& uses, double bytes) {
  Attempt& attempt = attempts[slot];
  attempt.flow = network.Start(now, uses, bytes, std::uint64_t{attempt.generation} << 32 | slot);
  attempt.flowing = true;
}

double RunState::StopFlow(SlotId slot) {
  Attempt& attempt = attempts[slot];
  attempt.flowing = false;
  return network.Stop(now, attempt.flow);
}

void RunState::SetTimer(SlotId slot, Micros in) {
  attempts[slot].timing = true;
  queue.Add(now + in, Happening::kAttempt, slot, attempts[slot].generation);
}

void RunState::StartComputing(SlotId slot, Micros alone) {
  Attempt& attempt = attempts[slot];
  const SimJob& job = *RunOf(attempt).job;
  const double cores = attempt.id.task.kind == TaskKind::kMap ? job.map_cores : job.reduce_cores;
  if (!processors.limited() || cores <= 0) return SetTimer(slot, alone);
  attempt.timing = attempt.working = true;
  processors.Start(now, attempt.node, slot, cores, alone);
}

}  // namespace millrace::sim
