// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/cp_snapshot.h"

#include <algorithm>
#include <vector>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

constexpr Micros kSteps = 200;         // of a map time
constexpr Micros kFinestStep = 1'000;  // us
constexpr Micros kCoarsestStep = 100'000;

// It holds what was seen of a job's tasks, and what was declared of the same ones.
struct Evidence {
  PerKind<double> declared = {};  // of one task, by TaskKind
  double seen = 0, expected = 0;

  Evidence(const ClusterState& state, const JobState& job) {
    for (const TaskKind kind : kTaskKinds) {
      declared[kind] = static_cast<double>(std::max<Micros>(1, DeclaredTime(state, job, kind)));
    }
    seen = expected = declared[job.progress.maps > 0 ? TaskKind::kMap : TaskKind::kReduce];
    for (const TaskKind kind : kTaskKinds) {
      const RunTimes& times = job.times[kind];
      seen += static_cast<double>(times.finished_total);
      expected += declared[kind] * times.finished;
    }
  }

  void AddRunning(TaskKind kind, Micros elapsed) {
    if (static_cast<double>(elapsed) <= declared[kind]) return;
    seen += static_cast<double>(elapsed);
    expected += declared[kind];
  }

  [[nodiscard]] TaskTimes Times() const {
    const double bias = seen / expected;
    return {bias * declared[TaskKind::kMap], bias * declared[TaskKind::kReduce]};
  }
};

// Returns true if the attempt holds what tasks of its kind are planned on. Where more reduces run than may compute, a
// reduce is planned on a compute permit, and one that copies or waits has yet to get one.
bool HoldsSlot(const NodeState& node, TaskKind kind, const RunningAttempt& attempt) {
  return kind == TaskKind::kMap || node.limits.only_copying == 0 || attempt.computing();
}

struct RunningTask {
  JobId job;
  TaskKind kind = TaskKind::kMap;
  Micros since = 0;
  bool frees_slot = false;  // when it ends, its node takes another task
};

class Builder {
 public:
  Builder(const ClusterState& state, const CpSettings& settings, Micros now) : state_(state), now_(now) {
    snapshot_.problem.now = now;
    snapshot_.problem.objective.kind =
        settings.objective == CpSettings::Objective::kPaper ? PlanObjective::Kind::kPaper : PlanObjective::Kind::kMix;
  }

  CpSnapshot Build() {
    for (const QueueKey& key : state_.LiveJobs()) {
      evidence_.emplace(key.job, Evidence(state_, *state_.FindJob(key.job)));
    }
    for (std::uint32_t id = 0; id < state_.node_ids(); ++id) {
      if (const NodeState* node = state_.FindNode(NodeId{id}); node != nullptr && node->alive) AddNode(*node);
    }
    for (const RunningTask& task : running_) evidence_.at(task.job).AddRunning(task.kind, now_ - task.since);
    SetScales();
    for (const auto& [id, evidence] : evidence_) AddJob(id, evidence);
    for (const RunningTask& task : running_) AddRunning(task);
    RemoveFixedJobs();
    AddSlots(TaskKind::kMap, &snapshot_.problem.map_slots);
    AddSlots(TaskKind::kReduce, &snapshot_.problem.reduce_slots);
    return std::move(snapshot_);
  }

 private:
  void AddNode(const NodeState& node) {
    const bool split = node.limits.only_copying > 0;
    const PerKind<std::uint32_t> limits = {node.limits.maps, split ? node.Permits() : node.limits.reduces};
    const PerKind<std::uint32_t> used = {node.used.maps, split ? node.computing : node.used.reduces};
    for (const TaskKind kind : kTaskKinds) {
      if (node.TakesTasks() && limits[kind] > used[kind]) free_[kind][now_] += limits[kind] - used[kind];
    }
    // More tasks may run than the node takes now.
    PerKind<std::uint32_t> left = limits;
    for (const AttemptId& attempt : node.running) {
      const TaskId& task = attempt.task;
      const RunningAttempt& known = *state_.FindJob(task.job)->Tasks(task.kind)[task.index].Find(attempt.number);
      if (!HoldsSlot(node, task.kind, known)) {
        ++to_compute_[task.job];
        continue;
      }
      const bool frees = node.TakesTasks() && left[task.kind] > 0;
      if (frees) --left[task.kind];
      running_.push_back({task.job, task.kind, known.since, frees});
    }
  }

  // Sets tau to about one map time, and how finely times are taken.
  void SetScales() {
    double sum = 0;
    for (const auto& [id, evidence] : evidence_) {
      const JobState& job = *state_.FindJob(id);
      sum += evidence.declared[job.progress.maps > 0 ? TaskKind::kMap : TaskKind::kReduce];
    }
    const double mean = evidence_.empty() ? 1 : sum / static_cast<double>(evidence_.size());
    snapshot_.problem.objective.tau = std::max<Micros>(1, static_cast<Micros>(mean));
    step_ = std::clamp(snapshot_.problem.objective.tau / kSteps, kFinestStep, kCoarsestStep);
  }

  [[nodiscard]] Micros Round(Micros span) const { return std::max<Micros>(1, (span + step_ - 1) / step_) * step_; }

  void AddJob(JobId id, const Evidence& evidence) {
    const JobState& job = *state_.FindJob(id);
    const TaskTimes times = evidence.Times();
    snapshot_.times[id] = times;
    PlanJob plan;
    plan.id = id;
    plan.submitted = job.progress.submitted;
    if (job.spec.deadline > 0) plan.deadline = job.spec.deadline;
    if (!job.withheld()) {
      plan.maps = job.pending_maps.all().size();
      plan.reduces = job.pending_reduces.size() + to_compute_[id];
    }
    plan.map_time = Round(static_cast<Micros>(times.map));
    plan.reduce_time = Round(static_cast<Micros>(times.reduce));
    index_[id] = snapshot_.problem.jobs.size();
    snapshot_.problem.jobs.push_back(plan);
  }

  void AddRunning(const RunningTask& task) {
    PlanJob& job = snapshot_.problem.jobs[index_.at(task.job)];
    const Micros expected = task.kind == TaskKind::kMap ? job.map_time : job.reduce_time;
    const Micros left = std::max(task.since + expected - now_, expected / 10);
    const Micros end = now_ + Round(left);
    Micros& until = task.kind == TaskKind::kMap ? job.maps_until : job.reduces_until;
    until = std::max(until, end);
    if (task.frees_slot) ++free_[task.kind][end];
    Micros grown = expected + expected / 2;
    while (task.since + grown <= now_) grown += grown / 2 + 1;
    const Micros soonest = now_ + snapshot_.problem.objective.tau / 2;
    const Micros review = std::max(soonest, task.since + grown);
    snapshot_.review = std::min(snapshot_.review.value_or(review), review);
  }

  // Takes jobs without pending tasks out of the problem, since no order changes when they end.
  void RemoveFixedJobs() {
    PlanProblem& problem = snapshot_.problem;
    std::erase_if(problem.jobs, [&](const PlanJob& job) {
      if (job.maps + job.reduces > 0) return false;
      const Micros end = std::max({now_, job.maps_until, job.reduces_until});
      problem.fixed_worst = std::max(problem.fixed_worst, end - job.submitted);
      problem.fixed_late += job.deadline && end > *job.deadline ? 1 : 0;
      return true;
    });
  }

  void AddSlots(TaskKind kind, std::vector<SlotGroup>* slots) {
    for (const auto& [time, count] : free_[kind]) slots->push_back({time, count});
  }

  const ClusterState& state_;
  const Micros now_;
  Micros step_ = 1;
  CpSnapshot snapshot_;
  std::map<JobId, Evidence> evidence_;
  std::map<JobId, std::size_t> index_;
  std::vector<RunningTask> running_;
  std::map<JobId, std::uint32_t> to_compute_;  // running reduces that have yet to get a permit
  PerKind<std::map<Micros, std::uint32_t>> free_;
};

}  // namespace

CpSnapshot MakeSnapshot(const ClusterState& state, const CpSettings& settings, Micros now) {
  return Builder(state, settings, now).Build();
}

TaskTimes FinishedTimes(const ClusterState& state, const JobState& job) { return Evidence(state, job).Times(); }

}  // namespace millrace::sched
