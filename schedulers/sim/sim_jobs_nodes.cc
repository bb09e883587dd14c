// Jobs and nodes that come and go.
#include <utility>

#include "base/check.h"
#include "schedulers/sim/simulator.h"

namespace millrace::sim {

sched::JobSpec Simulator::SpecOf(std::uint32_t index) {
  const SimJob& job = workload_.jobs[index];
  sched::JobSpec spec;
  spec.name = job.name, spec.user = job.user, spec.pool = job.pool, spec.priority = job.priority;
  spec.reduces = static_cast<std::uint32_t>(job.reduces.size());
  spec.slow_start = job.slow_start, spec.max_attempts = job.max_attempts;
  if (job.deadline > 0) spec.deadline = now_ + job.deadline;
  spec.map_time = job.map_time, spec.reduce_time = job.reduce_time, spec.locality_waits = job.locality_waits;
  spec.program = job.program, spec.input_type = job.input_type, spec.profile = job.profile;
  if (spec.profile.runs == 0 && options_.keep_history && !job.program.empty()) {
    spec.profile = history_.Lookup(job.program, job.input_type);
  }
  const std::uint64_t key = BlockPlacer::DataKey(job, index);
  spec.maps.reserve(job.maps.size());
  for (std::uint32_t map = 0; map < job.maps.size(); ++map) {
    spec.maps.push_back({job.maps[map].bytes, job.replicas.empty() ? placer_.Place(key, map) : job.replicas[map]});
  }
  return spec;
}

void Simulator::Submit(std::uint32_t index) {
  const SimJob& job = workload_.jobs[index];
  runs_[index] = std::make_unique<JobRun>();
  JobRun& run = *runs_[index];
  run.job = &job;
  run.running[TaskKind::kMap].assign(job.maps.size(), kNone);
  run.running[TaskKind::kReduce].assign(job.reduces.size(), kNone);
  for (const SimReduce& reduce : job.reduces) run.weights += reduce.weight;
  if (!job.reduces.empty()) {
    run.outputs.reserve(job.maps.size());
    run.output_of.assign(job.maps.size(), kNone);
    run.by_node.resize(nodes_.size());
  }
  recorder_.OnSubmit(index, now_);
  const bool accepted = Apply(sched::JobSubmitted{JobId{index}, SpecOf(index)});
  MILLRACE_CHECK(accepted, "a job of the workload was refused");
}

void Simulator::EndJob(const sched::JobEnded& ended) {
  const std::uint32_t index = ended.job.value;
  recorder_.OnJobEnded(index, ended.outcome, now_);
  if (options_.keep_history) (void)history_.Record(*engine_.state().FindJob(ended.job));
  const JobRun& run = *runs_[index];
  for (std::uint32_t node = 0; node < run.by_node.size(); ++node) {
    if (run.by_node[node] == 0) continue;
    Keep(NodeId{node}, run.by_node[node], false);
    TellSpace(node);
  }
  runs_[index].reset();
  ended_.push_back(ended.job);
  --jobs_left_;
  for (const std::uint32_t follower : followers_[index]) {
    queue_.Add(now_ + workload_.jobs[follower].submit, Happening::kSubmit, follower);
  }
}

void Simulator::JoinNode(std::uint32_t node) {
  const NodeSpec& spec = cluster_.nodes[node];
  if (nodes_[node].alive) return;
  recorder_.OnCapacity(engine_.state(), now_);
  nodes_[node].alive = true;
  (void)Apply(sched::NodeJoined{NodeId{node}, spec.rack, spec.datacenter, spec.slots});
  TellSpace(node);
}

void Simulator::LoseNode(std::uint32_t node) {
  if (!nodes_[node].alive) return;
  recorder_.OnCapacity(engine_.state(), now_);
  nodes_[node].alive = false;
  nodes_[node].waiting.clear();
  while (!nodes_[node].attempts.empty()) Remove(nodes_[node].attempts.back(), AttemptEnd::kLost);
  nodes_[node].computing = 0;
  (void)Apply(sched::NodeLost{NodeId{node}});
  Reread(NodeId{node});
}

void Simulator::Sample() {
  recorder_.OnCapacity(engine_.state(), now_);
  recorder_.OnSample(engine_.state(), now_);
  queue_.Add(now_ + options_.sample_interval, Happening::kSample);
}

}  // namespace millrace::sim
