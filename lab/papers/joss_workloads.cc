// Lee et al. section 6: small and mixed workloads on two datacenters, figures 7 to 9 and 11 to 15, tables 8 to 10.
//
// 30 nodes of one map and one reduce slot, half of them in each datacenter, one replica a block, one reduce a job,
// blocks of 128 MB; numbers of jobs and arrivals are those of tables 6 and 7 (small: as bursty as SWIM's, by a gamma
// distribution of the same mean and deviation; mixed: Poisson). Filtering percentages are table 5's and are learnt by
// the scheduler as jobs end. What the paper leaves open: task times (a map 20 to 60 s, by benchmark; a reduce 30 s a
// GB), node links of 62.5 MB/s and a link between the datacenters of 40 MB/s each way.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"
#include "schedulers/policies/simple/capacity_settings.h"

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

// Marsaglia and Tsang's method, for a shape below 1 by way of shape + 1.
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

// Returns which part of the bytes that the reduces fetched came from their own datacenter, in %.
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

Table LocalityTable(const Results& results, const std::string& id, const std::string& title) {
  Table table{id,
              title,
              {{"scheduler"},
               {"benchmark"},
               Measured("node, %"),
               Measured("datacenter, %"),
               Measured("off, %"),
               Measured("reduce data, %")}};
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

struct Load {
  double mean = 0, deviation = 0;
};

// Only maps count, as in the paper, where every job has one reduce.
Load LoadOf(const SimResult& result) {
  double maps = 0;
  std::map<std::uint32_t, double> by_node;
  for (const TaskRow& task : result.tasks) {
    if (task.attempt.task.kind == TaskKind::kMap && task.how == AttemptEnd::kSucceeded)
      ++by_node[task.node.value], ++maps;
  }
  const double mean = maps / 30;
  double squares = 0;
  for (std::uint32_t n = 0; n < 30; ++n) squares += (by_node[n] - mean) * (by_node[n] - mean) / 30;
  return {mean, std::sqrt(squares)};
}

Table TotalsTable(const Results& results, const std::string& id, const std::string& title, double paper_mean,
                  const std::vector<double>& deviations) {
  Table table{id,
              title,
              {{"scheduler"},
               Measured("INT, GB"),
               Ratio("INT / fifo"),
               Measured("WTT, s", 0),
               Ratio("WTT / fifo", 3),
               Given("paper: maps a node", 2),
               Measured("maps a node"),
               Given("paper: deviation", 2),
               Measured("deviation", 2)}};
  const SimResult& fifo = results.at("fifo");
  const auto traffic = [](const SimResult& result) { return static_cast<double>(result.summary.datacenter_bytes); };
  const auto end = [](const SimResult& result) { return static_cast<double>(result.summary.makespan) / 1e6; };
  for (std::size_t s = 0; s < std::size(kSchedulers); ++s) {
    const SimResult& result = results.at(kSchedulers[s]);
    const Load load = LoadOf(result);
    table.rows.push_back({kSchedulers[s], traffic(result) / 1e9, traffic(result) / traffic(fifo), end(result),
                          end(result) / end(fifo), paper_mean, load.mean, deviations[s], load.deviation});
  }
  return table;
}

// Tables 9 and 10, by scheduler.
const std::vector<double> kPaperDeviations[] = {{13.58, 13.59, 6.32, 9.64, 9.81}, {7.78, 11.06, 18.30, 9.46, 14.74}};

constexpr double kPaperTurnarounds[5][5] = {{1, 1, 1, 1, 1},
                                            {1.25, 1.28, 1.46, 1.55, 1.47},
                                            {1.05, 1.09, 1.16, 1.40, 1.21},
                                            {1.17, 1.14, 1.21, 1.45, 1.23},
                                            {1.11, 1.08, 1.15, 1.37, 1.22}};

Table TurnaroundTable(const Results& results) {
  Table table{"table-8", "Table 8, small workload: mean turnaround / that of joss-t", {{"scheduler"}}};
  for (const Benchmark& benchmark : kBenchmarks) {
    table.columns.push_back(Given(std::string("paper: ") + benchmark.name, 2));
    table.columns.push_back(Ratio(benchmark.name));
  }
  for (std::size_t s = 0; s < std::size(kSchedulers); ++s) {
    auto& row = table.rows.emplace_back(std::vector<Cell>{kSchedulers[s]});
    for (std::size_t b = 0; b < std::size(kBenchmarks); ++b) {
      row.emplace_back(kPaperTurnarounds[s][b]);
      row.emplace_back(MeanTurnaround(OfGroup(results.at(kSchedulers[s]), kBenchmarks[b].name)) /
                       MeanTurnaround(OfGroup(results.at("joss-t"), kBenchmarks[b].name)));
    }
  }
  return table;
}

double Completed(const SimResult& result, double seconds) {
  return static_cast<double>(std::count_if(result.jobs.begin(), result.jobs.end(), [&](const JobRow& job) {
    return job.Ended() && job.end <= Seconds(seconds);
  }));
}

Table CompletionTable(const Results& mixed) {
  Table table{"figure-15", "Figure 15, mixed workload: jobs of 100 that have ended", {{"after"}}};
  for (const char* scheduler : kSchedulers) table.columns.push_back(Measured(scheduler));
  for (const std::uint32_t seconds : {1'000U, 2'000U, 3'000U, 4'140U, 5'000U, 6'000U}) {
    std::vector<Cell> row = {std::to_string(seconds) + " s"};
    for (const char* scheduler : kSchedulers) row.emplace_back(Completed(mixed.at(scheduler), seconds));
    table.rows.push_back(std::move(row));
  }
  return table;
}

constexpr const char* kOthers[] = {"fifo", "fair", "capacity"};
constexpr const char* kMapHeavy[] = {"WC", "SC", "II", "Grep"};

double NodeLocal(const Results& results, const char* scheduler, const char* benchmark) {
  return LocalityPercent(OfGroup(results.at(scheduler), benchmark), Locality::kNode);
}

double OffLocal(const Results& results, const char* scheduler, const char* benchmark) {
  return 100 - LocalityPercent(OfGroup(results.at(scheduler), benchmark), Locality::kDatacenter);
}

// Returns the mean of `of` over the map-heavy benchmarks.
template <class Function>
double MeanOverMapHeavy(const Function& of) {
  double sum = 0;
  for (const char* benchmark : kMapHeavy) sum += of(benchmark);
  return sum / std::size(kMapHeavy);
}

void AddLocalityClaims(const Results& small, const Results& mixed, std::vector<Claim>* claims) {
  const auto off = [&](const Results& results, const char* scheduler) {
    return MeanOverMapHeavy([&](const char* benchmark) { return OffLocal(results, scheduler, benchmark); });
  };
  claims->push_back({"small: maps of map-heavy jobs off their datacenter, joss-t, %", "close to 0 (below 2)",
                     off(small, "joss-t"), Measured(""), AtMost(2)});
  claims->push_back({"small: the same under fifo less under joss-t, points", "far lower",
                     off(small, "fifo") - off(small, "joss-t"), Measured(""), AtLeast(0)});
  for (const char* other : kOthers) {
    claims->push_back({std::string("small: node-local maps of map-heavy jobs, joss-j less ") + other + ", points",
                       "higher", MeanOverMapHeavy([&](const char* benchmark) {
                         return NodeLocal(small, "joss-j", benchmark) - NodeLocal(small, other, benchmark);
                       }),
                       Measured(""), AtLeast(0)});
  }
  claims->push_back({"small: joss-j less joss-t, points", "higher", MeanOverMapHeavy([&](const char* benchmark) {
                       return NodeLocal(small, "joss-j", benchmark) - NodeLocal(small, "joss-t", benchmark);
                     }),
                     Measured(""), AtLeast(0)});
  claims->push_back(
      {"small: reduce data of Permu from its datacenter, joss-t less fifo, points", "higher",
       ReduceLocality(OfGroup(small.at("joss-t"), "Permu")) - ReduceLocality(OfGroup(small.at("fifo"), "Permu")),
       Measured(""), AtLeast(0)});
  for (const char* other : {"joss-j", "fifo", "fair", "capacity"}) {
    double points = 0;
    for (const Benchmark& benchmark : kBenchmarks)
      points += NodeLocal(mixed, other, benchmark.name) - NodeLocal(mixed, "joss-t", benchmark.name);
    claims->push_back({std::string("mixed: node-local maps, mean of the benchmarks, ") + other + " less joss-t, points",
                       "higher", points / std::size(kBenchmarks), Measured(""), AtLeast(0)});
  }
}

// The statements of section 6.2 about the maps of the mixed workload, and beside the small one.
void AddMixedClaims(const Results& small, const Results& mixed, std::vector<Claim>* claims) {
  const auto add = [&](std::string text, const char* paper, double ours, const Expected& expected) {
    claims->push_back({std::move(text), paper, ours, Measured(""), expected});
  };
  const auto off = [&](const char* scheduler) {
    return MeanOverMapHeavy([&](const char* benchmark) { return OffLocal(mixed, scheduler, benchmark); });
  };
  for (const char* other : kOthers) {
    add(std::string("mixed: maps of map-heavy jobs off their datacenter, ") + other + " less joss-t, points",
        "much lower", off(other) - off("joss-t"), AtLeast(0));
  }
  add("mixed: the same, joss-j less joss-t", "similar (within 2)", off("joss-j") - off("joss-t"), Within(-2, 2));
  for (const char* joss : {"joss-t", "joss-j"}) {
    add(std::string("maps of Permu off their datacenter, small less mixed, ") + joss + ", points", "no longer as many",
        OffLocal(small, joss, "Permu") - OffLocal(mixed, joss, "Permu"), AtLeast(0));
  }
  for (const char* scheduler : {"joss-j", "fifo", "fair", "capacity"}) {
    double points = 0;
    for (const Benchmark& benchmark : kBenchmarks)
      points += NodeLocal(mixed, scheduler, benchmark.name) - NodeLocal(small, scheduler, benchmark.name);
    add(std::string("node-local maps, mean of the benchmarks, mixed less small, ") + scheduler + ", points",
        "increased", points / std::size(kBenchmarks), AtLeast(0));
  }
  const auto behind = std::count_if(std::begin(kBenchmarks), std::end(kBenchmarks), [&](const Benchmark& benchmark) {
    return std::any_of(std::begin(kOthers), std::end(kOthers), [&](const char* other) {
      return NodeLocal(mixed, other, benchmark.name) > NodeLocal(mixed, "joss-j", benchmark.name);
    });
  });
  add("mixed: benchmarks of 5 in which fifo, fair or capacity has more node-local maps than joss-j",
      "not always better (1 or more)", static_cast<double>(behind), AtLeast(1));
}

double ReduceLocal(const Results& results, const char* scheduler, const char* benchmark) {
  return ReduceLocality(OfGroup(results.at(scheduler), benchmark));
}

// Returns by how many points the best of the others falls short of the worse of JoSS-T and JoSS-J.
double LeadInReduceData(const Results& results, const char* benchmark) {
  double others = 0;
  for (const char* other : kOthers) others = std::max(others, ReduceLocal(results, other, benchmark));
  return std::min(ReduceLocal(results, "joss-t", benchmark), ReduceLocal(results, "joss-j", benchmark)) - others;
}

// Figures 8 and 12: from how near the reduces get their data.
void AddReduceClaims(const Results& small, const Results& mixed, std::vector<Claim>* claims) {
  for (const auto& [name, results] :
       {std::pair("figure 8, small: ", &small), std::pair("figure 12, mixed: ", &mixed)}) {
    double ahead = 0, lead = 0;
    for (const Benchmark& benchmark : kBenchmarks) {
      const double points = LeadInReduceData(*results, benchmark.name);
      ahead += points > 0 ? 1 : 0;
      lead += points / std::size(kBenchmarks);
    }
    claims->push_back({std::string(name) + "benchmarks of 5 in which both JoSS have more reduce data from the reduce's "
                                           "datacenter than all others",
                       "5", ahead, Measured(""), AtLeast(5)});
    claims->push_back(
        {std::string(name) + "by how much, mean of the benchmarks, points", "above 0", lead, Measured(""), AtLeast(0)});
  }
  claims->push_back({"reduce data of Permu from its datacenter, small less mixed, joss-t, points", "no longer as high",
                     ReduceLocal(small, "joss-t", "Permu") - ReduceLocal(mixed, "joss-t", "Permu"), Measured(""),
                     AtLeast(0)});
}

void AddTimeClaims(const Table& turnarounds, const Results& mixed, std::vector<Claim>* claims) {
  double slowest = 0, fastest = 0;  // benchmarks in which joss-j is the slowest, joss-t the fastest
  for (const Benchmark& benchmark : kBenchmarks) {
    double most = 0, least = 1e9;
    for (const char* other : kOthers) {
      most = std::max(most, turnarounds.Number(other, benchmark.name));
      least = std::min(least, turnarounds.Number(other, benchmark.name));
    }
    slowest += turnarounds.Number("joss-j", benchmark.name) >= std::max(1.0, most) ? 1 : 0;
    fastest += std::min(least, turnarounds.Number("joss-j", benchmark.name)) >= 1 ? 1 : 0;
  }
  claims->push_back(
      {"small: benchmarks of 5 in which joss-t has the shortest turnaround", "5", fastest, Measured(""), AtLeast(5)});
  claims->push_back({"small: in which joss-j has the longest", "5", slowest, Measured(""), AtLeast(5)});
  double tau = 0;
  for (std::size_t b = 0; b < std::size(kBenchmarks); ++b) {
    std::vector<double> paper, ours;
    for (std::size_t s = 0; s < std::size(kSchedulers); ++s) {
      paper.push_back(kPaperTurnarounds[s][b]);
      ours.push_back(turnarounds.Number(kSchedulers[s], kBenchmarks[b].name));
    }
    tau += TauOf(paper, ours) / std::size(kBenchmarks);
  }
  claims->push_back({"table 8: order of the five by turnaround, Kendall's tau with the paper's, mean of the benchmarks",
                     "1", tau, Measured("", 2), SameOrder()});
  const auto end = [&](const char* scheduler) { return static_cast<double>(mixed.at(scheduler).summary.makespan); };
  claims->push_back({"mixed: end of joss-j / of the earliest other", "shortest",
                     end("joss-j") / std::min({end("joss-t"), end("fifo"), end("fair"), end("capacity")}), Ratio(""),
                     AtMost(1)});
  claims->push_back({"mixed: end of fifo / of the latest other", "longest",
                     end("fifo") / std::max({end("joss-t"), end("joss-j"), end("fair"), end("capacity")}), Ratio(""),
                     AtLeast(1)});
  claims->push_back(
      {"mixed: end of joss-t / of joss-j", "longer", end("joss-t") / end("joss-j"), Ratio(""), AtLeast(1)});
  double other = 0;
  for (const char* scheduler : {"joss-t", "joss-j", "fifo", "capacity"})
    other = std::max(other, Completed(mixed.at(scheduler), 4'140));
  claims->push_back({"figure 15: jobs that have ended after 4140 s, fair less the best other", "ahead",
                     Completed(mixed.at("fair"), 4'140) - other, Measured(""), AtLeast(0)});
}

void AddLoadClaims(const Table& small, const Table& mixed, std::vector<Claim>* claims) {
  const auto deviations = [](const Table& table) {
    std::vector<double> all;
    for (const char* scheduler : kSchedulers) all.push_back(table.Number(scheduler, "deviation"));
    return all;
  };
  const std::vector<double> in_small = deviations(small), in_mixed = deviations(mixed);
  const auto add = [&](const char* text, const char* paper, double ours, const Expected& expected) {
    claims->push_back({text, paper, ours, Ratio(""), expected});
  };
  add("table 9: deviation of the load, joss-t / fifo", "13.58 / 6.32, fifo best", in_small[0] / in_small[2],
      Effect(13.58 / 6.32, 0.005, 1));
  add("table 10: the same, mixed", "7.78 / 18.30, joss-t best", in_mixed[0] / in_mixed[2],
      Effect(7.78 / 18.30, 0.005, 1));
  add("deviation of the load, mixed / small, joss-t", "7.78 / 13.58, much lower", in_mixed[0] / in_small[0],
      Effect(7.78 / 13.58, 0.005, 1));
  add("the same, joss-j", "11.06 / 13.59", in_mixed[1] / in_small[1], Effect(11.06 / 13.59, 0.005, 1));
  claims->push_back({"table 9: order of the five by deviation, Kendall's tau with the paper's",
                     "1 (FIFO, Fair, Capa, JoSS-T, JoSS-J)", TauOf(kPaperDeviations[0], in_small), Measured("", 2),
                     SameOrder()});
  claims->push_back({"table 10: order of the five, the same", "1 (JoSS-T, Fair, JoSS-J, Capa, FIFO)",
                     TauOf(kPaperDeviations[1], in_mixed), Measured("", 2), SameOrder()});
}

std::vector<Claim> Claims(const Results& small, const Results& mixed, const Findings& findings) {
  std::vector<Claim> claims;
  AddLocalityClaims(small, mixed, &claims);
  AddMixedClaims(small, mixed, &claims);
  AddReduceClaims(small, mixed, &claims);
  const Table &totals_small = findings.Of("table-9"), &totals_mixed = findings.Of("table-10");
  const auto traffic = [](const Table& table, const char* other) {
    return table.Number("joss-t", "INT, GB") / table.Number(other, "INT, GB");
  };
  claims.push_back({"small: INT of joss-t / fifo", "much lower", traffic(totals_small, "fifo"), Ratio(""), AtMost(1)});
  const std::pair<const char*, double> kTraffic[] = {{"fifo", 0.3344}, {"fair", 0.3216}, {"capacity", 0.3543}};
  for (const auto& [other, ratio] : kTraffic) {
    const std::string digits = std::to_string(ratio).substr(0, 6);
    claims.push_back({std::string("mixed: INT of joss-t / ") + other, digits, traffic(totals_mixed, other), Ratio(""),
                      Effect(ratio, 0.00005, 1)});
  }
  AddTimeClaims(findings.Of("table-8"), mixed, &claims);
  AddLoadClaims(totals_small, totals_mixed, &claims);
  return claims;
}

}  // namespace

Findings JossWorkloads(const Options& options) {
  const std::uint64_t seed = options.seed * 100;
  const Results small = RunAll(Small(seed), seed), mixed = RunAll(Mixed(seed + 1), seed);
  Findings findings;
  findings.tables = {
      LocalityTable(small, "figure-7", "Figures 7 and 8, small workload: locality of maps and of reduce data"),
      TurnaroundTable(small),
      TotalsTable(small, "table-9", "Figure 9 and table 9, small workload: traffic between datacenters, end, load", 80,
                  kPaperDeviations[0]),
      LocalityTable(mixed, "figure-11", "Figures 11 and 12, mixed workload: locality of maps and of reduce data"),
      TotalsTable(mixed, "table-10", "Figures 13 and 14 and table 10, mixed workload: traffic, end, load", 98.23,
                  kPaperDeviations[1]),
      CompletionTable(mixed)};
  findings.claims = Claims(small, mixed, findings);
  return findings;
}

}  // namespace millrace::sim::experiments
