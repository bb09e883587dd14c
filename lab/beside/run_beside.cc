// SPDX-License-Identifier: Apache-2.0
#include "lab/beside/run_beside.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "lab/model/simulate.h"

namespace millrace::compare {
namespace {

Micros Costing(const TaskCost& cost, Micros asked) {
  return static_cast<Micros>(std::llround(static_cast<double>(asked) * cost.scale + cost.latency));
}

// Returns the number of cores that a task keeps busy. If it was not reported, the task's time includes its waiting, so
// it needs no cores.
double CoresOf(const TaskCost& cost) {
  if (cost.cpu < 0) return 0;
  const double time = cost.asked * cost.scale + cost.latency;
  return time > 0 ? std::min(cost.cpu / time, cost.threads) : cost.threads;
}

void AddCosts(const ClassCost& cost, sim::SimJob* job) {
  for (sim::SimMap& map : job->maps) {
    map.cpu = Costing(cost.of[TaskKind::kMap], map.cpu);
    map.output = static_cast<std::uint64_t>(std::llround(static_cast<double>(map.output) * cost.output_scale));
  }
  for (sim::SimReduce& reduce : job->reduces) reduce.cpu = Costing(cost.of[TaskKind::kReduce], reduce.cpu);
  job->map_cores = CoresOf(cost.of[TaskKind::kMap]), job->reduce_cores = CoresOf(cost.of[TaskKind::kReduce]);
}

// Puts the blocks where they lay, and has the schedulers learn of the program that really ran.
void Adopt(const sim::JournalFacts::Job& facts, sim::SimJob* job) {
  job->program = facts.program, job->input_type = facts.input_type;
  if (facts.inputs.size() != job->maps.size()) return;
  job->replicas.clear();
  for (std::size_t map = 0; map < facts.inputs.size(); ++map) {
    job->maps[map].bytes = facts.inputs[map].bytes;
    job->replicas.push_back(facts.inputs[map].replicas);
  }
}

void SetCluster(const std::vector<NodeRow>& nodes, const Costs& costs, const sim::StatedLinks& stated,
                const sim::JournalFacts& facts, sim::ClusterSpec* cluster) {
  const sim::NodeSpec first = cluster->nodes.empty() ? sim::NodeSpec{} : cluster->nodes.front();
  std::vector<sim::NodeSpec> specs;
  for (const NodeRow& row : nodes) {
    sim::NodeSpec& spec = specs.emplace_back();
    spec.rack = row.rack, spec.datacenter = row.datacenter;
    spec.slots = {row.map_slots, row.reduce_slots};
    if (specs.size() <= facts.nodes.size()) {
      const sim::JournalFacts::Node& told = facts.nodes[specs.size() - 1];
      spec.machine = told.machine, spec.cores = told.cores * costs.cores_share;
    }
    spec.up = spec.down = stated.node || costs.reads == 0 ? first.up : costs.node_bandwidth;
  }
  const sim::ClusterSpec file = std::move(*cluster);
  *cluster = {};
  cluster->nodes = std::move(specs);
  cluster->process_start = std::llround(costs.process_start);
  cluster->task_latency = std::llround(costs.task_latency);
  cluster->rack_bandwidth = stated.rack || costs.reads == 0 ? file.rack_bandwidth : costs.rack_bandwidth;
  cluster->datacenter_bandwidth =
      stated.datacenter || costs.reads == 0 ? file.datacenter_bandwidth : costs.datacenter_bandwidth;
}

// Samples as far from each other as those of the live run, since fairness is a mean over them.
Micros SampleInterval(const sim::SimResult& live) {
  if (live.samples.size() < 2) return kSecond;
  return live.samples[1].time - live.samples[0].time;
}

Status CheckTimed(const sim::SimulationFile& file, const Costs& costs) {
  for (std::size_t job = 0; job < file.workload.jobs.size(); ++job) {
    const sim::SimJob& of = file.workload.jobs[job];
    const ClassCost& cost = costs.classes[file.live.class_of[job]];
    const bool maps = of.maps.empty() || cost.of[TaskKind::kMap].attempts > 0;
    const bool reduces = of.reduces.empty() || cost.of[TaskKind::kReduce].attempts > 0;
    if (!of.program.empty() && !(maps && reduces)) return file.CheckSimulable();
  }
  return Status::Ok();
}

}  // namespace

sim::SimulationFile FileBeside(const sim::SimulationFile& file, const Costs& costs, const std::vector<NodeRow>& nodes,
                               const RunOutcome& live) {
  sim::SimulationFile beside = file;
  EvenOut(&beside.workload);
  SetCluster(nodes, costs, file.stated, live.facts, &beside.cluster);
  for (std::size_t job = 0; job < beside.workload.jobs.size(); ++job) {
    sim::SimJob& of = beside.workload.jobs[job];
    AddCosts(costs.classes[file.live.class_of[job]], &of);
    if (job < live.facts.jobs.size()) Adopt(live.facts.jobs[job], &of);
    if (of.after) {
      of.submit += static_cast<Micros>(std::llround(costs.follow_delay));
    } else if (live.result.jobs[job].submitted) {
      of.submit = live.result.jobs[job].submit;
    }
  }
  return beside;
}

Result<RunOutcome> RunBeside(const sim::SimulationFile& file, const Costs& costs, const std::vector<NodeRow>& nodes,
                             const RunOutcome& live, const sched::Variant& scheduler) {
  MILLRACE_TRY(CheckTimed(file, costs));
  const sim::SimulationFile beside = FileBeside(file, costs, nodes, live);
  sim::SimOptions options;
  options.seed = file.seed;
  options.sample_interval = SampleInterval(live.result);
  options.task_rows = true;
  RunOutcome outcome;
  MILLRACE_ASSIGN(outcome.result,
                  sim::Simulate(beside.cluster, beside.workload, scheduler.scheduler, scheduler.settings, options));
  return outcome;
}

}  // namespace millrace::compare
