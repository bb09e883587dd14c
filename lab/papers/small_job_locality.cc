// Zaharia et al. sections 4.1, 4.2 and 6.2.3: the locality of small jobs, figure 4, and what waiting for it costs them.
//
// Figure 4: jobs of the sizes of table 2 (with the shares that they have at Facebook) on 600 nodes of 5 map slots, at
// any time 60 of them, so that the slots are busy. What the paper leaves open: 15 racks of 40 nodes, maps of 60 s
// (of which section 4.2 computes that with 15 s of waiting 98.6% find a local slot), T1 = T2 = 15 s, no network.
//
// Section 6.2.3: a job of 16 maps and a reduce alone on the EC2 cluster, eight times each, T1 = 10 s. A map takes 9 s,
// and Hadoop's own 26 s of each job (start, set-up) are not in our figures.
#include <array>
#include <string>

#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"

namespace millrace::sim::experiments {
namespace {

struct Bin {
  const char* name;
  std::uint32_t maps;
  double percent;  // of the jobs at Facebook
};
constexpr std::array<Bin, 9> kBins = {{{"1 to 25", 16, 58},
                                       {"25 to 50", 40, 9.6},
                                       {"50 to 100", 80, 8.6},
                                       {"100 to 200", 160, 8.4},
                                       {"200 to 400", 320, 5.6},
                                       {"400 to 800", 600, 4.3},
                                       {"800 to 1600", 1200, 2.5},
                                       {"1600 to 3200", 2400, 1.3},
                                       {"above 3200", 6400, 1.7}}};

std::size_t DrawBin(Random* random) {
  double total = 0;
  for (const Bin& bin : kBins) total += bin.percent;
  double left = random->Unit() * total;
  for (std::size_t bin = 0; bin + 1 < kBins.size(); ++bin) {
    left -= kBins[bin].percent;
    if (left < 0) return bin;
  }
  return kBins.size() - 1;
}

constexpr double kMinutes = 40;

// 60 users, each of whom submits one job after the other and has more of them than the run lasts for, so that the slots
// stay full to its end. The first job of each fills them and is not counted.
Workload FacebookJobs(std::uint64_t seed) {
  constexpr std::uint32_t kUsers = 60;
  constexpr std::uint32_t kJobs = 40;  // of a user
  constexpr double kMapSeconds = 60;
  Random random(seed);
  Workload workload;
  for (std::uint32_t j = 0; j < kUsers * kJobs; ++j) {
    const bool first = j < kUsers;
    const Bin& bin = kBins[DrawBin(&random)];
    SimJob job = ScanJob(first ? 200 : bin.maps, kMapSeconds);
    for (SimMap& map : job.maps) map.cpu = Seconds(kMapSeconds * Uniform(&random, 0.5, 1.5));
    job.user = "u" + std::to_string(j % kUsers);
    job.group = first ? "first" : bin.name;
    if (!first) job.after = j - kUsers;
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

Table AtFacebook(const Options& options) {
  Table table{"figure-4",
              "Figure 4: node-local and rack-local maps by size of the job, %",
              {{"maps"},
               Given("paper: node"),
               Measured("fair: node"),
               Given("paper: rack"),
               Measured("fair: rack"),
               Measured("fair+delay: node"),
               Measured("fair+delay: rack")}};
  ClusterSpec cluster = MakeCluster(600, 15, 1, {5, 0});
  for (NodeSpec& node : cluster.nodes) node.up = node.down = 0;
  cluster.rack_bandwidth = 0;
  const Workload workload = FacebookJobs(options.seed);
  SimOptions sim = Seeded(options.seed);
  sim.stop_at = Seconds(60 * kMinutes);
  const SimResult fair = Run(cluster, workload, "fair", DelayWaits(15), sim);
  const SimResult delay = Run(cluster, workload, "fair+delay", DelayWaits(15), sim);
  for (const Bin& bin : kBins) {
    const bool printed = bin.maps == 16;
    table.rows.push_back({bin.name, printed ? Cell(5.0) : Cell(), GroupLocality(fair, bin.name, Locality::kNode),
                          printed ? Cell(59.0) : Cell(), GroupLocality(fair, bin.name, Locality::kRack),
                          GroupLocality(delay, bin.name, Locality::kNode),
                          GroupLocality(delay, bin.name, Locality::kRack)});
  }
  return table;
}

struct Alone {
  double seconds = 0, local = 0;
};

Alone RunAlone(const std::string& scheduler, const Options& options) {
  constexpr std::uint32_t kRuns = 8;
  Alone mean;
  for (std::uint32_t r = 0; r < kRuns; ++r) {
    const std::uint64_t seed = options.seed * 100 + r;
    Random random(seed);
    Workload workload;
    SimJob job = ScanJob(16, 9);
    for (SimMap& map : job.maps) {
      map.cpu = Seconds(9 * Uniform(&random, 0.9, 1.1));
      map.output = kBlock128 / 1000;
    }
    job.reduces.resize(1);
    workload.jobs.push_back(std::move(job));
    const SimResult result = Run(Ec2Cluster(kGigabit), workload, scheduler, DelayWaits(10), Seeded(seed));
    mean.seconds += static_cast<double>(result.jobs[0].Turnaround()) / 1e6 / kRuns;
    mean.local += LocalityPercent(result.jobs, Locality::kNode) / kRuns;
  }
  return mean;
}

Table ResponseTable(const Options& options) {
  Table table{"section-6.2.3",
              "Section 6.2.3: a job of 16 maps alone on the cluster",
              {{"scheduler"},
               {"paper: response, s"},
               Measured("response, s"),
               Given("paper: node-local, %"),
               Measured("node-local, %")}};
  table.repeats = "8 runs";
  const Alone dl = RunAlone("dl", options), delay = RunAlone("dl+delay", options), fifo = RunAlone("fifo", options);
  table.rows.push_back({"dl", "35.4", dl.seconds, 25.0, dl.local});
  table.rows.push_back({"dl+delay", "35.4", delay.seconds, 100.0, delay.local});
  table.rows.push_back({"fifo", Cell(), fifo.seconds, Cell(), fifo.local});
  return table;
}

}  // namespace

Findings SmallJobLocality(const Options& options) {
  const Table facebook = AtFacebook(options);
  const Table response = ResponseTable(options);
  std::vector<Claim> claims = {
      {"figure 4, 1 to 25 maps: node-local under fair, %", "5", facebook.Number(0, "fair: node"), Measured(""),
       Size(5, 0.5)},
      {"figure 4, 1 to 25 maps: rack-local under fair, %", "59", facebook.Number(0, "fair: rack"), Measured(""),
       Size(59, 0.5)},
      {"section 4.2: node-local with 15 s of waiting, %", "98.6", facebook.Number(0, "fair+delay: node"), Measured(""),
       Size(98.6, 0.05)},
      {"section 6.2.3: node-local without delay (dl), %", "25", response.Number("dl", "node-local, %"), Measured(""),
       Size(25, 0.5)},
      {"section 6.2.3: node-local with delay (dl+delay), %", "100", response.Number("dl+delay", "node-local, %"),
       Measured(""), AtLeast(100)},
      {"section 6.2.3: response time, dl+delay less dl, s", "0 (35.4 both)",
       response.Number("dl+delay", "response, s") - response.Number("dl", "response, s"), Measured(""), Size(0, 0.1)},
  };
  return {{facebook, response}, claims};
}

}  // namespace millrace::sim::experiments
