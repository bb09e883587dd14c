// SPDX-License-Identifier: Apache-2.0
#include "lab/beside/costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "lab/journal/task_demand.h"

namespace millrace::compare {
namespace {

// A link whose reads reach less than this share of those within a rack limits them.
constexpr double kClearlySlower = 0.8;
constexpr double kOfReads = 0.9;

template <class Tasks>
Micros MeanTime(const Tasks& tasks) {
  if (tasks.empty()) return 0;
  const double sum = std::accumulate(tasks.begin(), tasks.end(), 0.0,
                                     [](double so_far, const auto& task) { return so_far + double(task.cpu); });
  return static_cast<Micros>(std::llround(sum / static_cast<double>(tasks.size())));
}

// Returns whether maps have an input on the cluster; if not, `sleep` stands in for the job.
bool Reads(const sim::SimJob& job) {
  return std::ranges::any_of(job.maps, [](const sim::SimMap& map) { return map.bytes > 0; }) &&
         (job.replicas.empty() || std::ranges::any_of(job.replicas, [](const auto& nodes) { return !nodes.empty(); }));
}

struct Sums {
  sim::TaskDemand demand;
  double asked = 0, took = 0;  // us
  void Add(Micros asked_time, Micros taken, const sched::ProcessorUse& use) {
    demand.Add(taken, use);
    asked += static_cast<double>(asked_time), took += static_cast<double>(taken);
  }
};

// Sums over the tasks of a class of jobs.
struct ClassSums {
  PerKind<Sums> of = {};
  Sums far_maps;  // that read from another node; they count if no others were seen
  PerKind<bool> works = {};
  double asked_output = 0, output = 0, input = 0;  // bytes
};

class Measuring {
 public:
  Measuring(std::size_t classes, const std::vector<NodeRow>& nodes) : nodes_(nodes), classes_(classes) {}

  void Add(const MeasuredRun& run) {
    sim::Workload workload = run.file->workload;
    EvenOut(&workload);
    const sim::SimResult& result = run.outcome->result;
    const auto class_of = [&](std::uint32_t job) -> ClassSums& { return classes_[run.file->live.class_of[job]]; };
    for (const sim::TaskRow& task : result.tasks) {
      const std::uint32_t job = task.attempt.task.job.value;
      if (task.how == sim::AttemptEnd::kSucceeded && !task.speculative)
        AddTask(workload.jobs[job], result.jobs[job], task, &class_of(job));
    }
    for (const sim::JobRow& row : result.jobs) {
      AddJob(workload.jobs[row.job], row, result, &class_of(row.job));
    }
    for (const sched::BandwidthMeasured& read : run.outcome->facts.reads) AddRead(read);
  }

  [[nodiscard]] Costs Finish() {
    Costs costs;
    costs.task_latency = Latency();
    costs.process_start = all_.Start(), costs.waited = waited_;
    for (ClassSums& sums : classes_) {
      ClassCost& cost = costs.classes.emplace_back();
      if (sums.of[TaskKind::kMap].demand.attempts() == 0) sums.of[TaskKind::kMap] = sums.far_maps;
      cost.of[TaskKind::kMap] = CostOf(sums.of[TaskKind::kMap], sums.works[TaskKind::kMap], costs.task_latency);
      cost.of[TaskKind::kReduce] = CostOf(sums.of[TaskKind::kReduce], sums.works[TaskKind::kReduce], 0);
      if (sums.asked_output > 0 && sums.output > 0) cost.output_scale = sums.output / sums.asked_output;
      if (sums.input > 0) cost.output_ratio = sums.output / sums.input;
    }
    costs.reads = AllReads().size();
    costs.node_bandwidth = Fast(reads_[0].empty() ? AllReads() : reads_[0]);
    costs.rack_bandwidth = IfSlower(Fast(reads_[1]), costs.node_bandwidth);
    costs.datacenter_bandwidth =
        IfSlower(Fast(reads_[2]), costs.rack_bandwidth > 0 ? costs.rack_bandwidth : costs.node_bandwidth);
    if (timed_ > 0) costs.lateness = late_ / static_cast<double>(timed_);
    if (followed_ > 0) costs.follow_delay = follow_late_ / static_cast<double>(followed_);
    return costs;
  }

 private:
  void AddTask(const sim::SimJob& job, const sim::JobRow& row, const sim::TaskRow& task, ClassSums* sums) {
    const TaskKind kind = task.attempt.task.kind;
    const std::uint32_t index = task.attempt.task.index;
    if (kind == TaskKind::kMap) {
      if (index >= job.maps.size()) return;
      const bool far = task.locality != Locality::kNode && Reads(job);
      (far ? sums->far_maps : sums->of[kind]).Add(job.maps[index].cpu, task.end - task.start, task.use);
      all_.Add(task.end - task.start, task.use);
    } else {
      if (index >= job.reduces.size()) return;
      const Micros ready = std::max(task.start, row.maps_ended);
      const Micros copied = std::max<Micros>(0, task.read - ready), computed = task.end - task.compute;
      sums->of[kind].Add(job.reduces[index].cpu, copied + computed, task.use);
      all_.Add(computed, task.use);
    }
    waited_ += static_cast<double>(task.use.waited);
    sums->works[kind] = Works(job, kind);
  }

  void AddJob(const sim::SimJob& job, const sim::JobRow& row, const sim::SimResult& result, ClassSums* sums) {
    if (!row.submitted) return;
    if (!job.after) {
      ++timed_, late_ += static_cast<double>(row.submit - job.submit);
    } else if (const sim::JobRow& before = result.jobs[*job.after]; before.Ended()) {
      ++followed_, follow_late_ += static_cast<double>(row.submit - before.end - job.submit);
    }
    if (job.reduces.empty() || row.outcome != sched::JobOutcome::kSucceeded) return;
    for (const sim::SimMap& map : job.maps) sums->asked_output += static_cast<double>(map.output);
    sums->output += static_cast<double>(row.shuffle_bytes);
    for (const std::uint64_t bytes : row.bytes_at) sums->input += static_cast<double>(bytes);
  }

  void AddRead(const sched::BandwidthMeasured& read) {
    const NodeRow &from = nodes_[read.from.value], &to = nodes_[read.to.value];
    const std::size_t level = from.datacenter != to.datacenter ? 2 : from.rack != to.rack ? 1 : 0;
    reads_[level].push_back(static_cast<double>(read.bytes_per_second));
  }

  // `latency` is the latency that all attempts share.
  static TaskCost CostOf(const Sums& sums, bool works, double latency) {
    TaskCost cost;
    cost.attempts = sums.demand.attempts();
    if (cost.attempts == 0) return cost;
    const auto attempts = static_cast<double>(cost.attempts);
    cost.taken = sums.took / attempts, cost.asked = sums.asked / attempts, cost.alone = sums.demand.Alone();
    const double own = std::max(0.0, cost.alone - latency);
    cost.scaled = works && sums.asked > 0;
    if (cost.scaled) {
      cost.scale = own / cost.asked;
    } else {
      cost.latency = std::max(0.0, own - cost.asked);
    }
    if (const std::optional<double> cores = sums.demand.Cores())
      cost.cpu = sums.demand.Cpu(), cost.threads = std::max(1.0, *cores);
    return cost;
  }

  // Returns the least time that the local maps of a class spend without working, or beyond their sleep; 0 if no CPU
  // times are known. Time that only one class spends, as when the machine was busy for a while, is not a latency of all
  // classes.
  [[nodiscard]] double Latency() const {
    std::optional<double> least;
    bool told = false;
    for (const ClassSums& sums : classes_) {
      const Sums& maps = sums.of[TaskKind::kMap];
      const std::optional<double> cores = maps.demand.Cores();
      if (!cores) continue;
      const bool works = sums.works[TaskKind::kMap];
      told = told || works;
      const double busy =
          works ? maps.demand.Cpu() / std::max(1.0, *cores) : maps.asked / static_cast<double>(maps.demand.attempts());
      const double idle = std::max(0.0, maps.demand.Alone() - busy);
      least = std::min(least.value_or(idle), idle);
    }
    return told ? least.value_or(0) : 0;
  }

  [[nodiscard]] std::vector<double> AllReads() const {
    std::vector<double> all;
    for (const std::vector<double>& of_level : reads_) all.insert(all.end(), of_level.begin(), of_level.end());
    return all;
  }

  // Returns the rate that few reads exceed, which is that of an unshared link; 0 if there are no reads.
  static double Fast(std::vector<double> reads) {
    if (reads.empty()) return 0;
    const auto at = reads.begin() + static_cast<std::ptrdiff_t>(kOfReads * static_cast<double>(reads.size() - 1));
    std::nth_element(reads.begin(), at, reads.end());
    return *at;
  }
  static double IfSlower(double link, double nearer) { return link < kClearlySlower * nearer ? link : 0; }

  const std::vector<NodeRow>& nodes_;
  std::vector<ClassSums> classes_;
  sim::TaskDemand all_;
  double waited_ = 0;             // us
  std::vector<double> reads_[3];  // bytes/s, within a rack, across racks, across datacenters
  std::uint64_t timed_ = 0, followed_ = 0;
  double late_ = 0, follow_late_ = 0;  // us
};

}  // namespace

void EvenOut(sim::Workload* workload) {
  for (sim::SimJob& job : workload->jobs) {
    const Micros map_time = MeanTime(job.maps), reduce_time = MeanTime(job.reduces);
    for (sim::SimMap& map : job.maps) map.cpu = map_time;
    for (sim::SimReduce& reduce : job.reduces) reduce.cpu = reduce_time;
  }
}

bool Works(const sim::SimJob& job, TaskKind kind) {
  if (!job.program.empty()) return true;
  return Reads(job) && (kind == TaskKind::kMap ? job.map_cores : job.reduce_cores) > 0;
}

Costs MeasureCosts(const std::vector<MeasuredRun>& runs, const std::vector<NodeRow>& nodes) {
  Measuring measuring(runs.front().file->live.classes.size(), nodes);
  for (const MeasuredRun& run : runs) measuring.Add(run);
  return measuring.Finish();
}

}  // namespace millrace::compare
