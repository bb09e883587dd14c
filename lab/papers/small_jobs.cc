// Zaharia et al. section 6.2.1, table 3 and figure 12: streams of small scan jobs.
//
// 100 nodes in 4 racks, 6 map slots each, 1 Gbit/s; map-only jobs of 3, 10 or 100 maps of 128 MiB, T1 = T2 = 15 s. The
// paper does not say how many jobs ran at once: here as many as fill the slots one and a half times, each followed by
// the next. A local map takes 4 s, what four disks that six maps share need for a block.
#include <algorithm>

#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"

namespace millrace::sim::experiments {
namespace {

constexpr std::uint32_t kNodes = 100;
constexpr std::uint32_t kSlots = 6;
constexpr double kMapSeconds = 4;

struct Case {
  std::uint32_t maps;
  double gain, node, rack, delay_node, delay_rack;  // the paper's
};
constexpr Case kCases[] = {{3, 1.2, 2, 50, 75, 96}, {10, 1.7, 37, 98, 99, 100}, {100, 1.3, 84, 99, 94, 99}};

// There are about 40 maps for every slot, so that the start and the end of the run weigh little. With a pace, one job
// comes every `pace` seconds, however many wait.
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

// Node-local maps in % when a job's maps are given one by one to nodes that nobody chose (head-of-line scheduling): of
// 3 k replicas that k pending maps have, the node holds none with probability (1 - 3/nodes)^k.
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
  const sched::Settings settings = DelayWaits(15);
  const auto run = [&](const char* scheduler) { return Run(cluster, workload, scheduler, settings, Seeded(seed)); };
  return {run("fifo"), run("fifo+delay"), run("fair"), run("fair+delay")};
}

double Gain(const SimResult& without, const SimResult& with) {
  return static_cast<double>(without.summary.makespan) / static_cast<double>(with.summary.makespan);
}

double Node(const SimResult& result) { return LocalityPercent(result.jobs, Locality::kNode); }
double Rack(const SimResult& result) { return LocalityPercent(result.jobs, Locality::kRack); }

Table GainsTable() {
  return {"figure-12",
          "Figure 12: throughput with delay scheduling over that of the same scheduler without",
          {{"maps"}, Given("paper", 1), Ratio("fifo"), Ratio("fair")}};
}

Table LocalityTable() {
  return {"table-3",
          "Table 3: node-local and rack-local maps, %",
          {Given("maps"), Given("paper: node"), Given("expected", 1), Measured("fifo: node"), Measured("fair: node"),
           Given("paper: rack"), Measured("fair: rack"), Given("paper: node, delay"), Measured("fair+delay: node"),
           Given("paper: rack, delay"), Measured("fair+delay: rack")}};
}

std::vector<Claim> Claims(const Table& gains, const Table& locality) {
  std::vector<Claim> claims;
  for (std::size_t c = 0; c < std::size(kCases); ++c) {
    const std::string maps = std::to_string(kCases[c].maps) + " maps: ";
    const std::string gain = kCases[c].maps == 3 ? "1.2" : kCases[c].maps == 10 ? "1.7" : "1.3";
    claims.push_back({maps + "throughput with delay over without, fair", gain, gains.Number(c, "fair"), Ratio(""),
                      Effect(kCases[c].gain, 0.05, 1)});
    const auto local = [&](const char* what, double paper, const char* column) {
      claims.push_back({maps + what, std::to_string(static_cast<int>(paper)), locality.Number(c, column), Measured(""),
                        Size(paper, 0.5)});
    };
    local("node-local maps without delay, fair, %", kCases[c].node, "fair: node");
    local("rack-local maps without delay, fair, %", kCases[c].rack, "fair: rack");
    local("node-local maps with delay, %", kCases[c].delay_node, "fair+delay: node");
    local("rack-local maps with delay, %", kCases[c].delay_rack, "fair+delay: rack");
  }
  return claims;
}

}  // namespace

Findings SmallJobs(const Options& options) {
  Table gains = GainsTable();
  Table locality = LocalityTable();
  std::vector<Claim> same;  // the paper: FIFO performed as fair sharing
  for (const Case& c : kCases) {
    const Runs runs = RunAll(Streams(c.maps, 0, options), options.seed);
    gains.rows.push_back(
        {std::to_string(c.maps), c.gain, Gain(runs.fifo, runs.fifo_delay), Gain(runs.fair, runs.fair_delay)});
    locality.rows.push_back({1.0 * c.maps, c.node, HeadOfLine(c.maps), Node(runs.fifo), Node(runs.fair), c.rack,
                             Rack(runs.fair), c.delay_node, Node(runs.fair_delay), c.delay_rack,
                             Rack(runs.fair_delay)});
    same.push_back({std::to_string(c.maps) + " maps: throughput of fair over fifo, without delay", "the same",
                    Gain(runs.fifo, runs.fair), Ratio(""), Within(0.95, 1.05)});
  }
  std::vector<Claim> claims = Claims(gains, locality);
  claims.insert(claims.end(), same.begin(), same.end());
  // Here it is the start of a job that limits small jobs.
  for (const std::uint32_t pace : {18U, 24U, 26U, 30U}) {
    const Runs runs = RunAll(Streams(3, 0.001 * pace, options), options.seed);
    gains.rows.push_back({"3, a job every " + std::to_string(pace) + " ms", 1.2, Gain(runs.fifo, runs.fifo_delay),
                          Gain(runs.fair, runs.fair_delay)});
  }
  return {{gains, locality}, claims};
}

}  // namespace millrace::sim::experiments
