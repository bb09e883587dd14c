#include "lab/papers/fresh_batch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lab/papers/draw.h"
#include "lab/papers/run.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"

namespace millrace::sim::experiments {
namespace {

struct Benchmark {
  const char* name;
  double map_seconds, reduce_seconds;
  std::array<std::uint32_t, 2> maps, reduces;  // of 8 GB and of 4 GB
};
constexpr std::array<Benchmark, kFreshBenchmarks> kBenchmarks = {{
    {"classification", 55, 30, {270, 129}, {250, 120}},
    {"invertedindex", 32, 58, {256, 128}, {250, 120}},
    {"wordcount", 38, 37, {256, 128}, {200, 100}},
    {"grep", 22, 63, {270, 128}, {250, 100}},
    {"histogram_ratings", 55, 30, {270, 129}, {250, 120}},
    {"histogram_movies", 42, 40, {270, 129}, {200, 100}},
}};
constexpr std::uint32_t kBatches = 3;

double MapWork(const SimJob& job) { return static_cast<double>(job.maps.size()) * static_cast<double>(job.map_time); }
double ReduceWork(const SimJob& job) {
  return static_cast<double>(job.reduces.size()) * static_cast<double>(job.reduce_time);
}

// Johnson's rule for two machines.
bool JohnsonBefore(const SimJob& a, const SimJob& b) {
  const bool a_first = MapWork(a) < ReduceWork(a), b_first = MapWork(b) < ReduceWork(b);
  if (a_first != b_first) return a_first;
  return a_first ? MapWork(a) < MapWork(b) : ReduceWork(a) > ReduceWork(b);
}

Workload MakeBatch(const std::vector<FreshJob>& jobs, double interval, bool johnson, std::uint64_t seed) {
  Random random(seed);
  Workload workload;
  for (const auto& [index, large] : jobs) {
    const Benchmark& benchmark = kBenchmarks.at(index);
    const std::size_t size = large ? 0 : 1;
    SimJob job;
    job.name = job.group = benchmark.name;
    job.slow_start = 1;
    job.map_time = Seconds(benchmark.map_seconds * Uniform(&random, 0.7, 1.3));
    job.reduce_time = Seconds(benchmark.reduce_seconds * Uniform(&random, 0.7, 1.3));
    for (std::uint32_t m = 0; m < benchmark.maps[size]; ++m)
      job.maps.push_back({32 * kMegabyte, Seconds(benchmark.map_seconds * Uniform(&random, 0.8, 1.2)), kMegabyte});
    for (std::uint32_t r = 0; r < benchmark.reduces[size]; ++r)
      job.reduces.push_back({1, Seconds(benchmark.reduce_seconds * Uniform(&random, 0.8, 1.2)), 0});
    workload.jobs.push_back(std::move(job));
  }
  if (johnson) std::stable_sort(workload.jobs.begin(), workload.jobs.end(), JohnsonBefore);
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    workload.jobs[j].user = workload.jobs[j].pool = "u" + std::to_string(j);
    workload.jobs[j].submit = Seconds(interval * static_cast<double>(j));
  }
  return workload;
}

// Two queues of the same capacity hold half of the jobs each, and each may grow to 90%.
void TwoQueues(Workload* workload, sched::Settings* settings) {
  for (const char* queue : {"q0", "q1"})
    settings->Named<sched::QueueSettings>()[queue] = {.capacity = 50, .max_capacity = 90};
  for (std::size_t j = 0; j < workload->jobs.size(); ++j) workload->jobs[j].pool = j % 2 == 0 ? "q0" : "q1";
}

// All jobs share one pool that runs k of them.
void LimitJobs(std::uint32_t k, Workload* workload, sched::Settings* settings) {
  settings->Named<sched::PoolSettings>()["all"].max_running_jobs = k;
  for (SimJob& job : workload->jobs) job.pool = "all";
}

double WithWaiting(const SimResult& result) {
  double sum = 0, count = 0;
  for (const auto& sample : result.samples) {
    if (sample.jobs == 0) continue;
    sum += sample.fairness * sample.active / sample.jobs;  // a job without usage adds to the jobs alone
    ++count;
  }
  return count > 0 ? sum / count : 1;
}

}  // namespace

const char* NameOf(FreshBenchmark benchmark) { return kBenchmarks.at(benchmark).name; }

FreshBatch::FreshBatch(std::vector<FreshJob> jobs, std::uint32_t nodes, const Options& options)
    : jobs_(std::move(jobs)),
      nodes_(nodes),
      interval_(0),
      johnson_(true),
      seed_(options.seed * 100),
      repeat_(options.Repeat(kBatches)) {}

FreshBatch::FreshBatch(std::vector<FreshJob> jobs, std::uint32_t nodes, double interval, const Options& options)
    : FreshBatch(std::move(jobs), nodes, options) {
  interval_ = interval;
  johnson_ = false;
}

FreshOutcome FreshBatch::Of(const std::string& scheduler, std::uint32_t map_slots, std::uint32_t k,
                            const FreshThresholds& thresholds) const {
  FreshOutcome mean;
  for (std::uint32_t i = 0; i < repeat_; ++i) {
    Workload workload = MakeBatch(jobs_, interval_, johnson_, seed_ + i);
    sched::Settings settings;
    auto& fresh = settings.Of<sched::FreshSettings>();
    fresh.k = k;
    fresh.tau_progress = thresholds.tau_1;
    fresh.tau_change = thresholds.tau_2;
    if (scheduler == "capacity") TwoQueues(&workload, &settings);
    if (scheduler == "fair" && k < jobs()) LimitJobs(k, &workload, &settings);
    const ClusterSpec cluster = MakeCluster(nodes_, 1, 1, {map_slots, 4 - map_slots});
    const SimResult result = Run(cluster, workload, scheduler, settings, Seeded(seed_ + i));
    mean.makespan += static_cast<double>(result.summary.makespan) / 1e6 / repeat_;
    mean.fairness += result.summary.fairness / repeat_;
    mean.with_waiting += WithWaiting(result) / repeat_;
  }
  return mean;
}

std::string FreshBatch::repeats() const {
  return Count(repeat_, "batch of drawn task times", "batches of drawn task times");
}

}  // namespace millrace::sim::experiments
