// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/recorder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ids/job.h"
#include "lab/measure/fairness.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/policies/fair/fair_settings.h"

namespace millrace::sim {
namespace {

using sched::ClusterState;

// Returns how many of the reduces that nodes may hold are beyond their slots, so that they copy and do not compute.
std::uint32_t SlotsForCopying(const ClusterState& state) {
  std::uint32_t copying = 0;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const sched::NodeState* node = state.FindNode(NodeId{id});
    const std::uint32_t slots = node == nullptr ? 0 : node->slots.maps + node->slots.reduces;
    if (node != nullptr && node->counted.total > slots) copying += node->counted.total - slots;
  }
  return copying;
}

std::uint64_t Round(double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); }

}  // namespace

Recorder::Recorder(const Workload& workload, const std::vector<Micros>& alone, const sched::Settings& settings,
                   std::uint32_t nodes, bool task_rows)
    : workload_(workload),
      settings_(settings),
      task_rows_(task_rows),
      bytes_(workload.jobs.size()),
      launched_on_(nodes) {
  result_.workload = workload.name;
  result_.jobs.resize(workload.jobs.size());
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    const SimJob& job = workload.jobs[i];
    JobRow& row = result_.jobs[i];
    row.job = i, row.name = job.name, row.user = job.user, row.group = job.group;
    row.pool = PoolOf(job.pool, job.user);
    row.maps = static_cast<std::uint32_t>(job.maps.size());
    row.reduces = static_cast<std::uint32_t>(job.reduces.size());
    if (i < alone.size()) row.alone = alone[i];
  }
}

void Recorder::OnSubmit(std::uint32_t job, Micros now) {
  JobRow& row = result_.jobs[job];
  if (!std::exchange(any_job_, true)) capacity_at_ = now;
  row.submitted = true;
  row.submit = now;
  if (workload_.jobs[job].deadline > 0) row.deadline = now + workload_.jobs[job].deadline;
}

void Recorder::OnJobEnded(std::uint32_t job, sched::JobOutcome outcome, Micros now) {
  result_.jobs[job].outcome = outcome;
  result_.jobs[job].end = now;
}

std::uint32_t Recorder::OnLaunch(const AttemptId& attempt, NodeId node, Locality locality, bool speculative,
                                 Micros now) {
  const TaskKind kind = attempt.task.kind;
  JobRow& job = result_.jobs[attempt.task.job.value];
  if (!job.started) job.started = true, job.start = now;
  if (kind == TaskKind::kMap) ++job.maps_at[static_cast<std::size_t>(locality)];
  if (speculative) ++job.speculative;
  ++result_.summary.launches;
  ++launched_on_[node.value];
  busy_[kind].Begin(now);
  if (!task_rows_) return kNoRow;
  TaskRow& row = result_.tasks.emplace_back();
  row.attempt = attempt, row.node = node, row.locality = locality, row.speculative = speculative, row.start = now;
  return static_cast<std::uint32_t>(result_.tasks.size() - 1);
}

void Recorder::OnRead(std::uint32_t row, Micros now) {
  if (row != kNoRow) result_.tasks[row].read = now;
}

void Recorder::OnCompute(std::uint32_t row, Micros now) {
  if (row != kNoRow) result_.tasks[row].compute = now;
}

void Recorder::OnUse(std::uint32_t row, const sched::ProcessorUse& use) {
  if (row != kNoRow) result_.tasks[row].use = use;
}

void Recorder::OnReduceComputing(Micros now) { computing_.Begin(now); }

void Recorder::OnEnd(std::uint32_t row, const AttemptId& attempt, Micros started, std::optional<Micros> computing,
                     AttemptEnd how, Micros now) {
  JobRow& job = result_.jobs[attempt.task.job.value];
  busy_[attempt.task.kind].End(started, now);
  if (computing) computing_.End(*computing, now);
  job.failed += how == AttemptEnd::kFailed ? 1 : 0;
  job.killed += how == AttemptEnd::kKilled || how == AttemptEnd::kLost ? 1 : 0;
  job.preempted += how == AttemptEnd::kPreempted ? 1 : 0;
  if (how == AttemptEnd::kSucceeded && attempt.task.kind == TaskKind::kMap) job.maps_ended = now;
  if (row == kNoRow) return;
  result_.tasks[row].end = now;
  result_.tasks[row].how = how;
}

void Recorder::OnInput(std::uint32_t job, Locality from, double bytes) {
  bytes_[job].at[static_cast<std::size_t>(from)] += bytes;
}

void Recorder::OnCopied(std::uint32_t job, double bytes, double rack_bytes, double datacenter_bytes) {
  bytes_[job].shuffle += bytes;
  bytes_[job].rack += rack_bytes;
  bytes_[job].datacenter += datacenter_bytes;
}

void Recorder::OnSpace(std::uint64_t kept) { result_.summary.peak_space = std::max(result_.summary.peak_space, kept); }

void Recorder::OnCapacity(const ClusterState& state, Micros now) {
  const auto passed = static_cast<double>(now - std::exchange(capacity_at_, now));
  if (passed == 0 || !any_job_) return;
  const std::uint32_t copying = SlotsForCopying(state);
  splits_ = splits_ || copying > 0;
  offered_[TaskKind::kMap] += passed * state.Capacity(TaskKind::kMap);
  offered_[TaskKind::kReduce] += passed * (state.Capacity(TaskKind::kReduce) - copying);
  offered_total_ += passed * (state.TotalCapacity() - copying);
}

double Recorder::DistanceNow(const ClusterState& state) const {
  std::map<std::string, double> running;
  double all = 0, weights = 0;
  for (const sched::QueueKey& key : state.LiveJobs()) {
    const sched::JobState& job = *state.FindJob(key.job);
    running[job.spec.PoolName()] += job.running_attempts[TaskKind::kMap];
    all += job.running_attempts[TaskKind::kMap];
  }
  if (all <= 0) return 0;
  for (const auto& [pool, maps] : running) weights += sched::SettingsOfPool(settings_, pool).weight;
  std::vector<sched::GroupShare> shares;
  for (const auto& [pool, maps] : running)
    shares.push_back({maps / all, sched::SettingsOfPool(settings_, pool).weight / weights});
  return sched::FairnessDistance(shares);
}

void Recorder::OnSample(const ClusterState& state, Micros now) {
  Sample& sample = result_.samples.emplace_back();
  sample.time = now;
  std::vector<double> usages;
  for (const TaskKind kind : kTaskKinds) {
    sample.running[kind] = state.Running(kind);
    sample.capacity[kind] = state.Capacity(kind);
    for (const sched::QueueKey& key : state.RunnableJobs(kind)) {
      sample.pending[kind] += state.FindJob(key.job)->Pending(kind).size();
    }
  }
  for (const sched::QueueKey& key : state.LiveJobs()) {
    const sched::JobState& job = *state.FindJob(key.job);
    ++sample.jobs;
    if (!job.started || now <= job.progress.started) continue;
    const Micros used = job.SlotTime(TaskKind::kMap, now) + job.SlotTime(TaskKind::kReduce, now);
    usages.push_back(static_cast<double>(used) / static_cast<double>(now - job.progress.started));
  }
  sample.active = static_cast<std::uint32_t>(usages.size());
  sample.fairness = sched::OverallFairness(usages);
  sample.distance = DistanceNow(state);
}

void Recorder::RoundBytes() {
  double rack = 0, datacenter = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    const Bytes& bytes = bytes_[i];
    JobRow& row = result_.jobs[i];
    for (std::size_t level = 0; level < 4; ++level) row.bytes_at[level] = Round(bytes.at[level]);
    row.shuffle_bytes = Round(bytes.shuffle);
    row.shuffle_datacenter_bytes = Round(bytes.shuffle - bytes.datacenter);
    rack += bytes.rack + bytes.at[2] + bytes.at[3];
    datacenter += bytes.datacenter + bytes.at[3];
  }
  result_.summary.rack_bytes = Round(rack);
  result_.summary.datacenter_bytes = Round(datacenter);
}

SimResult Recorder::Finish(const ClusterState& state, Micros now) {
  OnCapacity(state, now);
  RoundBytes();
  Summary& summary = result_.summary;
  double busy_total = 0;
  for (const TaskKind kind : kTaskKinds) {
    const bool computing = splits_ && kind == TaskKind::kReduce;
    const double busy = (computing ? computing_ : busy_[kind]).Used(now);
    busy_total += busy;
    summary.utilisation[kind] = offered_[kind] > 0 ? busy / offered_[kind] : 0;
  }
  summary.slot_time = offered_;
  summary.utilisation_total = offered_total_ > 0 ? busy_total / offered_total_ : 0;
  const auto nodes = static_cast<double>(launched_on_.size());
  double squares = 0;
  summary.tasks_per_node = static_cast<double>(summary.launches) / nodes;
  for (const std::uint32_t launched : launched_on_) squares += std::pow(launched - summary.tasks_per_node, 2);
  summary.tasks_per_node_deviation = std::sqrt(squares / nodes);
  Summarise(&result_);
  return std::move(result_);
}

}  // namespace millrace::sim
