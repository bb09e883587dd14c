// Zaharia et al. section 4.1, figure 5, and section 6.2.2, figures 13 and 14: the job that freed a slot gets it back.
//
// Figure 5: 100 nodes of one slot, 3 replicas, J jobs at once with more maps than they can keep waiting; no network.
// Maps differ in time by a tenth, so that slots free one by one. Figures 13 and 14: the EC2
// cluster, J scans of one data set of 180 GB, 9 s a local map, T1 = 10 s.
#include <cmath>

#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"

namespace millrace::sim::experiments {
namespace {

// Every job scans `maps` blocks, in a tenth more or less than `seconds` each.
Workload Scans(std::uint32_t jobs, std::uint32_t maps, double seconds, const std::string& input, std::uint64_t seed) {
  Workload workload;
  workload.placement.kind = Placement::Kind::kRandom;
  Random random(seed);
  for (std::uint32_t j = 0; j < jobs; ++j) {
    SimJob job = ScanJob(maps, seconds);
    job.user = "u" + std::to_string(j);
    job.input = input;
    for (SimMap& map : job.maps) map.cpu = Seconds(seconds * Uniform(&random, 0.9, 1.1));
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

constexpr std::uint32_t kNodes = 100;
constexpr std::uint32_t kReplicas = 3;

// The paper's formula: each of a job's N/J nodes holds a block with probability R/N, independently of the others.
double Formula(std::uint32_t jobs) { return 100 * (1 - std::pow(1 - 1.0 * kReplicas / kNodes, 1.0 * kNodes / jobs)); }

// The same with R replicas on distinct nodes: the probability that all of them are on nodes of other jobs.
double Exact(std::uint32_t jobs) {
  double none = 1;
  for (std::uint32_t r = 0; r < kReplicas; ++r) none *= (kNodes - 1.0 * kNodes / jobs - r) / (kNodes - r);
  return 100 * (1 - none);
}

// Replicas are placed as the formula assumes: some blocks have none, some have more than three.
void PlaceIndependently(Workload* workload, std::uint64_t seed) {
  Random random(seed);
  for (SimJob& job : workload->jobs) {
    job.replicas.resize(job.maps.size());
    for (std::vector<NodeId>& nodes : job.replicas) {
      for (std::uint32_t n = 0; n < kNodes; ++n) {
        if (random.Below(kNodes) < kReplicas) nodes.push_back(NodeId{n});
      }
    }
  }
}

Table Curve(const Options& options) {
  Table table{"figure-5",
              "Figure 5: node-local maps over the number of jobs, 100 one-slot nodes, %",
              {Given("jobs"), Given("formula", 1), Measured("fair, replicas as in the formula"),
               Given("exact: 3 distinct replicas", 1), Measured("fair"), Measured("fair+delay")}};
  ClusterSpec cluster = MakeCluster(kNodes, 1, 1, {1, 0});
  for (NodeSpec& node : cluster.nodes) node.up = node.down = 0;
  const auto locality = [&](const Workload& workload, const char* scheduler) {
    const SimResult result = Run(cluster, workload, scheduler, DelayWaits(10), Seeded(options.seed));
    return LocalityPercent(result.jobs, Locality::kNode);
  };
  for (const std::uint32_t jobs : {2U, 5U, 10U, 20U, 50U}) {
    const Workload distinct = Scans(jobs, 20'000 / jobs, 10, "", options.seed);
    Workload independent = distinct;
    PlaceIndependently(&independent, options.seed);
    table.rows.push_back({1.0 * jobs, Formula(jobs), locality(independent, "fair"), Exact(jobs),
                          locality(distinct, "fair"), locality(distinct, "fair+delay")});
  }
  return table;
}

struct Pair {
  SimResult fair, delay;

  [[nodiscard]] double Gain() const {
    return static_cast<double>(fair.summary.makespan) / static_cast<double>(delay.summary.makespan);
  }
};

Pair RunScan(std::uint32_t jobs, double link, const Options& options) {
  const Workload workload = Scans(jobs, 1'440, 9, "data", options.seed);
  const auto run = [&](const char* scheduler) {
    return Run(Ec2Cluster(link), workload, scheduler, DelayWaits(10), Seeded(options.seed));
  };
  return {run("fair"), run("fair+delay")};
}

Table Scan(const Options& options) {
  Table table{"figure-13",
              "Figures 13 and 14: concurrent scans of 180 GB, throughput of fair+delay over fair by the speed of a "
              "node's link, node-local maps in %",
              {Given("jobs"), Given("paper: gain", 1), Ratio("gain"), Ratio("gain, 40 MB/s"), Ratio("gain, 60 MB/s"),
               Ratio("gain, 1 Gbit/s"), Given("paper: fair"), Measured("fair"), Given("paper: fair+delay"),
               Measured("fair+delay")}};
  for (const std::uint32_t jobs : {5U, 10U, 20U, 50U}) {
    const Pair pair = RunScan(jobs, kEc2Link, options);
    const Cell paper = jobs == 10 ? Cell(1.1) : jobs == 20 ? Cell(1.6) : jobs == 50 ? Cell(2.0) : Cell();
    const Cell paper_fair = jobs == 5 ? Cell("90") : jobs == 50 ? Cell("27") : Cell();
    table.rows.push_back({1.0 * jobs, paper, pair.Gain(), RunScan(jobs, 40e6, options).Gain(),
                          RunScan(jobs, 60e6, options).Gain(), RunScan(jobs, kGigabit, options).Gain(), paper_fair,
                          LocalityPercent(pair.fair.jobs, Locality::kNode), "99 to 100",
                          LocalityPercent(pair.delay.jobs, Locality::kNode)});
  }
  return table;
}

std::vector<Claim> Claims(const Table& curve, const Table& scan) {
  return {
      {"figure 5, 5 jobs: node-local maps under fair, %", "below 50", curve.Number(1, "fair"), Measured(""),
       AtMost(50)},
      {"figure 13, 10 jobs: throughput with delay over without", "1.1", scan.Number(1, "gain"), Ratio(""),
       Effect(1.1, 0.05, 1)},
      {"figure 13, 20 jobs: throughput with delay over without", "1.6", scan.Number(2, "gain"), Ratio(""),
       Effect(1.6, 0.05, 1)},
      {"figure 13, 50 jobs: throughput with delay over without", "2", scan.Number(3, "gain"), Ratio(""),
       Effect(2, 0.05, 1)},
      {"figure 14, 5 jobs: node-local maps without delay, %", "90", scan.Number(0, "fair"), Measured(""),
       Size(90, 0.5)},
      {"figure 14, 50 jobs: node-local maps without delay, %", "27", scan.Number(3, "fair"), Measured(""),
       Size(27, 0.5)},
      {"figure 14, 50 jobs: node-local maps with delay, %", "99 to 100", scan.Number(3, "fair+delay"), Measured(""),
       AtLeast(99)},
  };
}

}  // namespace

Findings StickySlots(const Options& options) {
  const Table curve = Curve(options);
  const Table scan = Scan(options);
  return {{curve, scan}, Claims(curve, scan)};
}

}  // namespace millrace::sim::experiments
