// Zaharia et al. section 6.2.1, table 3 and figure 12: streams of small scan jobs.
//
// There are 100 nodes in 4 racks, with 6 map slots each and links of 1 Gbit/s. Map-only jobs have 3, 10 or 100 maps of
// 128 MiB, and T1 = T2 = 15 s. The paper does not say how many jobs ran at once. Here it is as many as fill the slots
// one and a half times, and each is followed by the next. A local map takes 4 s, which is what four disks shared by six
// maps need for a block.
#include <algorithm>

#include "schedulers/offering/delay_settings.h"
#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

constexpr std::uint32_t kNodes = 100;
constexpr std::uint32_t kSlots = 6;
constexpr double kMapSeconds = 4;

struct Case {
  std::uint32_t maps;
  double gain, node, rack, delay_node, delay_rack;  // what the paper has
};
constexpr Case kCases[] = {{3, 1.2, 2, 50, 75, 96}, {10, 1.7, 37, 98, 99, 100}, {100, 1.3, 84, 99, 94, 99}};

// Returns about 40 maps for every slot, so that the start and the end of the run weigh little. With a pace, one job
// comes every `pace` seconds, however many are waiting.
Workload Streams(std::uint32_t maps, double pace, const Options& options) {
  Workload workload;
  Random random(options.seed + maps);
  const std::uint32_t streams = std::max(2U, kNodes * kSlots * 3 / 2 / maps);
  const std::uint32_t jobs = options.Repeat(40 * kNodes * kSlots / maps);
  for (std::uint32_t j = 0; j < jobs; ++j) {
    SimJob job = ScanJob(maps, kMapSeconds);
    job.user = "u" + std::to_string(j % streams);
    for (SimMap& map : job.maps) map.cpu = Seconds(kMapSeconds * Uniform(&random, 0.9, 1.1));
    if (pace > 0) {
      job.submit = Seconds(j * pace);
    } else if (j >= streams) {
      job.after = j - streams;
    }
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

// Returns the node-local maps in % if a job's maps go one by one to whatever node is free (head-of-line scheduling). Of
// the 3 k replicas of k pending maps, the node holds none with probability (1 - 3/nodes)^k.
double HeadOfLine(std::uint32_t maps) {
  double local = 0;
  double none = 1;
  for (std::uint32_t left = 1; left <= maps; ++left) {
    none *= 1 - 3.0 / kNodes;
    local += 1 - none;
  }
  return 100 * local / maps;
}

struct Runs {
  SimResult fifo, fifo_delay, fair, fair_delay;
};

Runs RunAll(const Workload& workload, std::uint64_t seed) {
  const ClusterSpec cluster = MakeCluster(kNodes, 4, 1, {kSlots, 4});
  sched::Settings settings;
  auto& delay = settings.Of<sched::DelaySettings>();
  delay.rack_wait = delay.datacenter_wait = delay.off_wait = Seconds(15);
  const auto run = [&](const char* scheduler) { return Run(cluster, workload, scheduler, settings, Seeded(seed)); };
  return {run("fifo"), run("fifo+delay"), run("fair"), run("fair+delay")};
}

double Gain(const SimResult& without, const SimResult& with) {
  return static_cast<double>(without.summary.makespan) / static_cast<double>(with.summary.makespan);
}

double Node(const SimResult& result) { return LocalityPercent(result.jobs, Locality::kNode); }
double Rack(const SimResult& result) { return LocalityPercent(result.jobs, Locality::kRack); }

}  // namespace

std::vector<Table> SmallJobs(const Options& options) {
  Table gains{"figure 12: throughput with delay scheduling over without",
              {{"maps"}, {"paper"}, {"fifo", 2}, {"fair", 2}}};
  Table locality{"table 3: node-local / rack-local maps, %",
                 {{"maps", 0},
                  {"paper: node", 0},
                  {"expected"},
                  {"fifo: node"},
                  {"fair: node"},
                  {"paper: rack", 0},
                  {"fair: rack"},
                  {"paper: node, delay", 0},
                  {"fair+delay: node"},
                  {"paper: rack, delay", 0},
                  {"fair+delay: rack"}}};
  for (const Case& c : kCases) {
    const Runs runs = RunAll(Streams(c.maps, 0, options), options.seed);
    gains.rows.push_back(
        {std::to_string(c.maps), c.gain, Gain(runs.fifo, runs.fifo_delay), Gain(runs.fair, runs.fair_delay)});
    locality.rows.push_back({1.0 * c.maps, c.node, HeadOfLine(c.maps), Node(runs.fifo), Node(runs.fair), c.rack,
                             Rack(runs.fair), c.delay_node, Node(runs.fair_delay), c.delay_rack,
                             Rack(runs.fair_delay)});
  }
  // At these paces, small jobs are limited by how fast jobs start.
  for (const std::uint32_t pace : {18U, 24U, 26U, 30U}) {
    const Runs runs = RunAll(Streams(3, 0.001 * pace, options), options.seed);
    gains.rows.push_back({"3, a job every " + std::to_string(pace) + " ms", 1.2, Gain(runs.fifo, runs.fifo_delay),
                          Gain(runs.fair, runs.fair_delay)});
  }
  return {gains, locality};
}

}  // namespace millrace::sim::experiments
