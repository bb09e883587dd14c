// SPDX-License-Identifier: Apache-2.0
#include "lab/model/run_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "schedulers/core/policy.h"

namespace millrace::sim {

namespace {

// Nothing but SimOptions::changes makes policies.
sched::EngineOptions EngineOptionsOf(const SimOptions& with) {
  sched::EngineOptions options = with.engine;
  if (with.changes.empty()) options.make_policy = nullptr;
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
      engine(EngineOptionsOf(options), std::move(policy)),
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

void RunState::StartComputing(SlotId slot) {
  Attempt& attempt = attempts[slot];
  attempt.work_since = now;
  attempt.alone = attempt.start > 0 ? attempt.start : attempt.fails ? attempt.compute / 2 : attempt.compute;
  const double cores = CoresOf(attempt);
  if (!processors.Limited(attempt.node) || cores <= 0) return SetTimer(slot, attempt.alone);
  attempt.timing = attempt.working = true;
  processors.Start(now, attempt.node, slot, cores, attempt.alone);
}

bool RunState::EndComputing(SlotId slot) {
  Attempt& attempt = attempts[slot];
  const double cores = CoresOf(attempt);
  const auto waited = static_cast<double>(now - attempt.work_since - attempt.alone);
  if (cores > 0) attempt.use.waited += std::llround(std::max(0.0, waited));
  const bool started = attempt.start > 0;
  attempt.use.start += std::exchange(attempt.start, 0);
  if (!started) attempt.use.cpu += std::llround(static_cast<double>(attempt.alone) * cores);
  return started;
}

double RunState::CoresOf(const Attempt& attempt) const {
  if (attempt.start > 0) return 1;
  const SimJob& job = *RunOf(attempt).job;
  return attempt.id.task.kind == TaskKind::kMap ? job.map_cores : job.reduce_cores;
}

}  // namespace millrace::sim
