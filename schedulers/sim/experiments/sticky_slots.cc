// Zaharia et al. section 4.1, figure 5, and section 6.2.2, figures 13 and 14: the job that freed a slot gets it back.
//
// Figure 5 has 100 nodes of one slot, 3 replicas, no network, and J jobs at once that never run out of pending maps.
// Map times differ by a tenth, so that slots become free one by one. Figures 13 and 14 have the EC2 cluster and J scans
// of one data set of 180 GB, with 9 s for a local map and T1 = 10 s.
#include <cmath>

#include "schedulers/offering/delay_settings.h"
#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

sched::Settings Waits(double seconds) {
  sched::Settings settings;
  auto& delay = settings.Of<sched::DelaySettings>();
  delay.rack_wait = delay.datacenter_wait = delay.off_wait = Seconds(seconds);
  return settings;
}

// Returns jobs that scan `maps` blocks each. A map takes a tenth more or less than `seconds`.
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

// Returns the paper's formula: each of a job's N/J nodes holds a block with probability R/N, independently of the
// others.
double Formula(std::uint32_t jobs) { return 100 * (1 - std::pow(1 - 1.0 * kReplicas / kNodes, 1.0 * kNodes / jobs)); }

// Returns the same for R replicas on distinct nodes, from the probability that all of them are on nodes of other jobs.
double Exact(std::uint32_t jobs) {
  double none = 1;
  for (std::uint32_t r = 0; r < kReplicas; ++r) none *= (kNodes - 1.0 * kNodes / jobs - r) / (kNodes - r);
  return 100 * (1 - none);
}

// Places replicas as the formula assumes, so that some blocks have none and some have more than three.
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
  Table table{"figure 5: node-local maps over the number of jobs, 100 one-slot nodes, %",
              {{"jobs", 0},
               {"paper: formula"},
               {"fair, replicas as in the formula"},
               {"exact: 3 distinct replicas"},
               {"fair"},
               {"fair+delay"}}};
  ClusterSpec cluster = MakeCluster(kNodes, 1, 1, {1, 0});
  for (NodeSpec& node : cluster.nodes) node.up = node.down = 0;
  const auto locality = [&](const Workload& workload, const char* scheduler) {
    const SimResult result = Run(cluster, workload, scheduler, Waits(10), Seeded(options.seed));
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

Table Scan(const Options& options) {
  Table table{"figures 13 and 14: concurrent scans of 180 GB, throughput of fair+delay over fair, node-local maps in %",
              {{"jobs", 0},
               {"paper: gain"},
               {"gain", 2},
               {"gain on 1 Gbit/s", 2},
               {"paper: fair"},
               {"fair"},
               {"paper: fair+delay"},
               {"fair+delay"}}};
  for (const std::uint32_t jobs : {5U, 10U, 20U, 50U}) {
    const Workload workload = Scans(jobs, 1'440, 9, "data", options.seed);
    const auto run = [&](const char* scheduler, double link) {
      return Run(Ec2Cluster(link), workload, scheduler, Waits(10), Seeded(options.seed));
    };
    const auto gain = [&](double link) {
      return static_cast<double>(run("fair", link).summary.makespan) /
             static_cast<double>(run("fair+delay", link).summary.makespan);
    };
    const auto local = [&](const char* scheduler) {
      return LocalityPercent(run(scheduler, kEc2Link).jobs, Locality::kNode);
    };
    const Cell paper = jobs == 10 ? Cell(1.1) : jobs == 20 ? Cell(1.6) : jobs == 50 ? Cell(2.0) : Cell();
    const Cell paper_fair = jobs == 5 ? Cell("90") : jobs == 50 ? Cell("27") : Cell();
    table.rows.push_back({1.0 * jobs, paper, gain(kEc2Link), gain(kGigabit), paper_fair, local("fair"), "99 to 100",
                          local("fair+delay")});
  }
  return table;
}

}  // namespace

std::vector<Table> StickySlots(const Options& options) { return {Curve(options), Scan(options)}; }

}  // namespace millrace::sim::experiments
