// Lee et al. section 6: small and mixed workloads on two datacenters, figures 7 to 14 and tables 8 to 10.
//
// There are 30 nodes of one map and one reduce slot, half of them in each datacenter, one replica of each block, one
// reduce in each job, and blocks of 128 MB. The numbers of jobs and their arrivals are those of tables 6 and 7: small
// jobs arrive in bursts like SWIM's, by a gamma distribution of the same mean and deviation, and mixed ones as a
// Poisson process. Filtering percentages are those of table 5; the scheduler learns them as jobs end. The paper leaves
// task times and links open. Here a map takes 20 to 60 s, depending on the benchmark, and a reduce 30 s for each GB;
// nodes have links of 62.5 MB/s, and the link between the datacenters has 40 MB/s each way.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

struct Benchmark {
  const char* name;
  double filtering;
  double map_seconds;
};
constexpr Benchmark kBenchmarks[] = {
    {"WC", 1.039, 40}, {"SC", 0.569, 45}, {"II", 1.166, 45}, {"Grep", 0.10, 20}, {"Permu", 3, 60}};
constexpr const char* kSchedulers[] = {"joss-t", "joss-j", "fifo", "fair", "capacity"};
constexpr std::uint64_t kBlock = 128 * kMegabyte;

SimJob MakeJob(const Benchmark& benchmark, std::uint32_t gigabytes, Random* random) {
  SimJob job;
  job.name = job.group = job.program = benchmark.name;
  job.user = "u" + std::to_string(random->Below(5));
  job.input_type = std::string_view(benchmark.name) == "Permu" ? "text" : "web";
  for (std::uint32_t m = 0; m < 8 * gigabytes; ++m) {
    const double seconds = benchmark.map_seconds * Uniform(random, 0.8, 1.2);
    job.maps.push_back({kBlock, Seconds(seconds), static_cast<std::uint64_t>(benchmark.filtering * kBlock)});
  }
  job.reduces.push_back({1, Seconds(30 * gigabytes * benchmark.filtering), 0});
  return job;
}

// Draws from a gamma distribution by Marsaglia and Tsang's method. A shape below 1 goes by way of shape + 1.
double Gamma(Random* random, double shape, double scale) {
  if (shape < 1) return Gamma(random, shape + 1, scale) * std::pow(1 - random->Unit(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Gaussian(random, 0, 1), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random->Unit()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

struct Count {
  std::size_t benchmark;
  std::uint32_t gigabytes, jobs;
};

Workload MakeWorkload(const std::vector<Count>& counts, double mean, double deviation, bool poisson,
                      std::uint64_t seed) {
  Random random(seed);
  Workload workload;
  workload.placement = {Placement::Kind::kRandom, 1};
  for (const Count& count : counts) {
    for (std::uint32_t j = 0; j < count.jobs; ++j)
      workload.jobs.push_back(MakeJob(kBenchmarks[count.benchmark], count.gigabytes, &random));
  }
  Shuffle(&random, &workload.jobs);
  const double shape = mean * mean / (deviation * deviation);
  double at = 0;
  for (SimJob& job : workload.jobs) {
    job.submit = Seconds(at);
    at += poisson ? Exponential(&random, mean) : Gamma(&random, shape, mean / shape);
  }
  return workload;
}

Workload Small(std::uint64_t seed) {
  return MakeWorkload({{0, 1, 60}, {1, 1, 59}, {2, 1, 59}, {3, 1, 61}, {4, 1, 61}}, 27.70, 36.52, false, seed);
}

Workload Mixed(std::uint64_t seed) {
  return MakeWorkload({{0, 1, 26}, {2, 1, 20}, {1, 1, 10}, {3, 1, 5}, {4, 1, 3}, {4, 5, 19}, {0, 12, 6}, {2, 12, 11}},
                      42.26, 50.13, true, seed);
}

ClusterSpec TwoDatacenters() {
  ClusterSpec cluster = MakeCluster(30, 2, 2, {1, 1});
  for (NodeSpec& node : cluster.nodes) node.up = node.down = 62.5e6;
  cluster.datacenter_bandwidth = 40e6;
  return cluster;
}

std::vector<JobRow> OfGroup(const SimResult& result, const std::string& group) {
  std::vector<JobRow> rows;
  std::copy_if(result.jobs.begin(), result.jobs.end(), std::back_inserter(rows),
               [&](const JobRow& row) { return row.group == group; });
  return rows;
}

// Returns the share of the fetched bytes that reduces fetched from their own datacenter, in %.
double ReduceLocality(const std::vector<JobRow>& jobs) {
  double all = 0, near = 0;
  for (const JobRow& job : jobs) {
    all += static_cast<double>(job.shuffle_bytes);
    near += static_cast<double>(job.shuffle_datacenter_bytes);
  }
  return all > 0 ? 100 * near / all : 0;
}

double MeanTurnaround(const std::vector<JobRow>& jobs) {
  double sum = 0;
  for (const JobRow& job : jobs) sum += static_cast<double>(job.Turnaround()) / 1e6;
  return sum / static_cast<double>(jobs.size());
}

using Results = std::map<std::string, SimResult>;

Results RunAll(const Workload& workload, std::uint64_t seed) {
  Results results;
  const ClusterSpec cluster = TwoDatacenters();
  for (const char* scheduler : kSchedulers) {
    sched::Settings settings;
    Workload jobs = workload;
    if (std::string_view(scheduler) == "capacity") {
      for (const char* queue : {"q0", "q1"})
        settings.Named<sched::QueueSettings>()[queue] = {.capacity = 50, .max_capacity = 100};
      for (std::size_t j = 0; j < jobs.jobs.size(); ++j) jobs.jobs[j].pool = j % 2 == 0 ? "q0" : "q1";
    }
    SimOptions options = Seeded(seed);
    options.task_rows = true;
    results[scheduler] = Run(cluster, jobs, scheduler, settings, options);
  }
  return results;
}

Table LocalityTable(const Results& results, const std::string& title) {
  Table table{title, {{"scheduler"}, {"benchmark"}, {"node, %"}, {"datacenter, %"}, {"off, %"}, {"reduce data, %"}}};
  for (const char* scheduler : kSchedulers) {
    for (const Benchmark& benchmark : kBenchmarks) {
      const auto jobs = OfGroup(results.at(scheduler), benchmark.name);
      const double node = LocalityPercent(jobs, Locality::kNode);
      const double near = LocalityPercent(jobs, Locality::kDatacenter);
      table.rows.push_back({scheduler, benchmark.name, node, near - node, 100 - near, ReduceLocality(jobs)});
    }
  }
  return table;
}

Table TotalsTable(const Results& results, const std::string& title, const std::vector<double>& deviations) {
  Table table{title,
              {{"scheduler"},
               {"INT, GB"},
               {"INT / fifo, %", 0},
               {"WTT, s", 0},
               {"tasks a node"},
               {"deviation", 2},
               {"paper: deviation", 2}}};
  const auto int_bytes = [&](const char* s) { return static_cast<double>(results.at(s).summary.datacenter_bytes); };
  for (std::size_t s = 0; s < std::size(kSchedulers); ++s) {
    const SimResult& result = results.at(kSchedulers[s]);
    // Only maps count, as in the paper, where every job has one reduce.
    double maps = 0;
    std::map<std::uint32_t, double> by_node;
    for (const TaskRow& task : result.tasks) {
      if (task.attempt.task.kind == TaskKind::kMap && task.how == AttemptEnd::kSucceeded)
        ++by_node[task.node.value], ++maps;
    }
    const double mean = maps / 30;
    double squares = 0;
    for (std::uint32_t n = 0; n < 30; ++n) squares += (by_node[n] - mean) * (by_node[n] - mean) / 30;
    table.rows.push_back({kSchedulers[s], int_bytes(kSchedulers[s]) / 1e9,
                          100 * int_bytes(kSchedulers[s]) / int_bytes("fifo"),
                          static_cast<double>(result.summary.makespan) / 1e6, mean, std::sqrt(squares), deviations[s]});
  }
  return table;
}

Table TurnaroundTable(const Results& results) {
  constexpr double kPaper[5][5] = {{1, 1, 1, 1, 1},
                                   {1.25, 1.28, 1.46, 1.55, 1.47},
                                   {1.05, 1.09, 1.16, 1.40, 1.21},
                                   {1.17, 1.14, 1.21, 1.45, 1.23},
                                   {1.11, 1.08, 1.15, 1.37, 1.22}};
  Table table{"small workload: mean turnaround / that of joss-t (table 8)", {{"scheduler"}}};
  for (const Benchmark& benchmark : kBenchmarks) {
    table.columns.push_back({std::string("paper: ") + benchmark.name, 2});
    table.columns.push_back({benchmark.name, 2});
  }
  for (std::size_t s = 0; s < std::size(kSchedulers); ++s) {
    auto& row = table.rows.emplace_back(std::vector<Cell>{kSchedulers[s]});
    for (std::size_t b = 0; b < std::size(kBenchmarks); ++b) {
      row.emplace_back(kPaper[s][b]);
      row.emplace_back(MeanTurnaround(OfGroup(results.at(kSchedulers[s]), kBenchmarks[b].name)) /
                       MeanTurnaround(OfGroup(results.at("joss-t"), kBenchmarks[b].name)));
    }
  }
  return table;
}

}  // namespace

std::vector<Table> JossWorkloads(const Options& options) {
  const std::uint64_t seed = options.seed * 100;
  const Results small = RunAll(Small(seed), seed), mixed = RunAll(Mixed(seed + 1), seed);
  return {LocalityTable(small, "small workload: locality of maps and of reduce data (figures 7 and 8)"),
          TurnaroundTable(small),
          TotalsTable(small, "small workload: traffic between datacenters, load (figure 9, table 9)",
                      {13.58, 13.59, 6.32, 9.64, 9.81}),
          LocalityTable(mixed, "mixed workload: locality of maps and of reduce data (figures 11 and 12)"),
          TotalsTable(mixed, "mixed workload: traffic, turnaround, load (figures 13 and 14, table 10)",
                      {7.78, 11.06, 18.30, 9.46, 14.74})};
}

}  // namespace millrace::sim::experiments
