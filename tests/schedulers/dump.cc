// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/dump.h"

#include <sstream>

#include "schedulers/events/event_text.h"

namespace millrace::sched {
namespace {

void DumpTask(std::ostream& out, const TaskId& id, const TaskState& task) {
  out << "  " << ToText(id) << " launched " << task.launched << " failed " << task.failed;
  if (task.left_out) out << " left out";
  if (task.succeeded()) out << " done by " << task.winner << " on n" << task.ran_on.value;
  for (const RunningAttempt& run : task.running) {
    out << " running " << run.number << " on n" << run.node.value << " since " << run.since;
  }
  out << '\n';
}

void DumpProgress(std::ostream& out, const JobProgress& p) {
  out << "  priority " << static_cast<int>(p.priority) << " submitted " << p.submitted << " started " << p.started
      << " ended " << p.ended << " outcome " << (p.outcome ? static_cast<int>(*p.outcome) : -1) << "\n  maps " << p.maps
      << '/' << p.maps_running << '/' << p.maps_done << '/' << p.maps_left_out << " reduces " << p.reduces << '/'
      << p.reduces_running << '/' << p.reduces_done << " failed " << p.failed_attempts << " killed "
      << p.killed_attempts << " at";
  for (const auto count : p.launched_at) out << ' ' << count;
  out << '\n';
}

void DumpJob(std::ostream& out, const JobState& job) {
  const JobId id = job.progress.job;
  out << "job" << id.value << " order " << job.key.submit_order << " started " << job.started << " slots "
      << job.running_attempts[TaskKind::kMap] << ' ' << job.running_attempts[TaskKind::kReduce] << " runnable "
      << job.runnable[TaskKind::kMap] << job.runnable[TaskKind::kReduce] << " computing "
      << job.running_attempts[kComputePermit] << " copied";
  for (const CopiedReduce& reduce : job.copied_reduces) out << ' ' << ToText(reduce.attempt);
  out << " bad " << job.live_bad_nodes << '\n';
  out << "  spec " << FormatEvent(0, JobSubmitted{id, job.spec}) << '\n';
  DumpProgress(out, job.progress);
  for (const TaskKind kind : kTaskKinds) {
    const auto& tasks = job.Tasks(kind);
    for (std::uint32_t i = 0; i < tasks.size(); ++i) DumpTask(out, {id, kind, i}, tasks[i]);
    out << "  pending";
    for (const auto index : job.Pending(kind)) out << ' ' << index;
    out << '\n';
  }
  for (const TaskKind kind : kTaskKinds) {
    for (const auto& [index, node] : job.failed_on[kind]) {
      out << "  " << ToText(TaskId{id, kind, index}) << " failed on n" << node.value << '\n';
    }
  }
  for (const auto& [node, failures] : job.node_failures) {
    out << "  n" << node.value << " failures " << failures.failures << " refusals " << failures.refusals << " until "
        << failures.until << (job.bad_nodes.contains(node) ? " bad" : "") << '\n';
  }
  for (const auto& [map, reduces] : job.fetch_reports) {
    out << "  map " << map << " not fetched by";
    for (const auto& [reduce, report] : reduces) out << ' ' << reduce << '.' << report.attempt << '#' << report.number;
    out << '\n';
  }
}

}  // namespace

std::string Dump(const ClusterState& state) {
  std::ostringstream out;
  out << "live nodes " << state.live_nodes() << '\n';
  for (std::uint32_t n = 0; n < state.node_ids(); ++n) {
    const NodeState* node = state.FindNode(NodeId{n});
    if (node == nullptr) continue;
    out << "n" << n << " alive " << node->alive << " drained " << node->drained << " avoided " << node->avoided
        << " at " << node->location.rack << ' ' << node->location.datacenter << " maps " << node->used.maps << '/'
        << node->slots.maps << " reduces " << node->used.reduces << '/' << node->slots.reduces;
    for (const AttemptId& attempt : node->running) out << ' ' << ToText(attempt);
    out << " computing " << node->computing << " waiting " << node->copied.size();
    out << '\n';
  }
  for (const auto& [node, jobs] : state.blames()) {
    out << "n" << node.value << " blamed by";
    for (const auto& [job, until] : jobs) out << " job" << job.value << " until " << until;
    out << '\n';
  }
  for (std::uint32_t j = 0; j < state.job_ids(); ++j) {
    if (const JobState* job = state.FindJob(JobId{j}); job != nullptr) DumpJob(out, *job);
  }
  for (const TaskKind kind : kTaskKinds) {
    out << "free";
    for (const auto node : state.FreeNodes(kind)) out << " n" << node;
    out << "\nrunnable";
    for (const QueueKey& key : state.RunnableJobs(kind)) out << " job" << key.job.value;
    out << '\n';
  }
  out << "live";
  for (const QueueKey& key : state.LiveJobs()) out << " job" << key.job.value;
  out << '\n';
  return out.str();
}

}  // namespace millrace::sched
