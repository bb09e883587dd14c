// What the reduces of a job are told of its maps: where their outputs are, and which will never come.
#include "master/job_tracker.h"

namespace millrace::master {

// All of them: to a worker that begins to reduce for the job, or may have missed some.
void JobTracker::AnnounceOutputs(JobId job, NodeNumber node, Step* step) {
  OutputsOrder& order = step->outputs[{node, job}];
  order.node = node;
  order.job = job;
  order.ready.clear();
  for (const sched::MapOutputReady& output : engine_.ReadyOutputs(job))
    order.ready.emplace_back(output.map_attempt, output.node.value);
  order.left_out = engine_.LeftOutMaps(job);
}

std::set<NodeNumber> JobTracker::ReducingNodes(const Job& job) {
  std::set<NodeNumber> reducing;
  for (const auto& [attempt, index] : job.running) {
    if (attempt.task.kind == TaskKind::kReduce) reducing.insert(job.attempts[index].node);
  }
  return reducing;
}

// An earlier attempt of it may have succeeded and lost its output: then its report does not count either.
void JobTracker::CarryLeftOut(const sched::MapLeftOut& left_out, Step* step) {
  const TaskId& map = left_out.map;
  Job& job = jobs_.at(map.job);
  log_->warn("job {} goes on without map {}: {}", map.job.value, map.index, left_out.reason);
  ++job.record.figures.maps_left_out;
  if (job.record.left_out.size() < kMostLeftOut)
    job.record.left_out.push_back({map.index, DescribeInput(job.splits.at(map.index))});
  step->batch.Put(JobKey(map.job), EncodeJob(job.record));
  if (job.reports.contains(map)) {
    NoteReport(job, map, {});
    job.reports.erase(map);
    step->batch.Remove(TaskKey(map));
  }
  for (const NodeNumber node : ReducingNodes(job)) {
    OutputsOrder& order = step->outputs[{node, map.job}];
    order.node = node;
    order.job = map.job;
    order.left_out.push_back(map.index);
  }
  step->changed.insert(map.job);
}

void JobTracker::CarryOutput(const AttemptId& map, NodeNumber node, bool ready, Step* step) {
  for (const NodeNumber target : ReducingNodes(jobs_.at(map.task.job))) {
    OutputsOrder& order = step->outputs[{target, map.task.job}];
    order.node = target;
    order.job = map.task.job;
    if (ready) {
      order.ready.emplace_back(map, node);
    } else {
      std::erase_if(order.ready, [&](const auto& output) { return output.first == map; });
      order.gone.push_back(map);
    }
  }
}

}  // namespace millrace::master
