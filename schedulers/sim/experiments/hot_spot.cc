// Zaharia et al. section 6.2.4, figure 15: IO-rate biasing on a hot file.
//
// On the EC2 cluster, 20 users run map-only jobs on one file of 2 GB (16 blocks, 3 replicas) for 10 minutes. Ten of
// them run scans (9 s a map) and ten run computations (36 s a map), each user one job after the other. Fair sharing is
// run with T1 = 10 s for all jobs, with no delay at all, and with T1 = 10 s for scans and 0 for computations. A user's
// next job comes at once. A Hadoop job of 9 s maps took 35 s (section 6.2.3), so runs with 26 s between jobs are shown
// too.
#include "schedulers/offering/delay_settings.h"
#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

constexpr double kMinutes = 10;
// Returns more jobs than any user can finish: the run is stopped after kMinutes.
Workload Users(bool biased, double pause, std::uint64_t seed) {
  Workload workload;
  Random random(seed);
  constexpr std::uint32_t kUsers = 20;
  for (std::uint32_t j = 0; j < kUsers * 70; ++j) {
    const bool scan = j % kUsers % 2 == 0;
    SimJob job = ScanJob(16, 1);
    for (SimMap& map : job.maps) map.cpu = Seconds((scan ? 9 : 36) * Uniform(&random, 0.9, 1.1));
    job.user = "u" + std::to_string(j % kUsers);
    job.group = scan ? "scan" : "compute";
    job.input = "hot";
    if (j >= kUsers) {
      job.after = j - kUsers;
      job.submit = Seconds(pause);
    }
    if (biased && !scan) job.locality_waits = {0};
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

struct Done {
  double scan = 0, compute = 0;              // how many jobs ended
  double scan_local = 0, compute_local = 0;  // the share of their maps that were node-local, in %
};

struct Setting {
  double link = kEc2Link;  // a node's link, in bytes/s
  double pause = 0;        // seconds between two jobs of a user
};

Done RunUsers(const std::string& scheduler, bool biased, const Setting& setting, const Options& options) {
  const ClusterSpec cluster = Ec2Cluster(setting.link);
  sched::Settings settings;
  auto& delay = settings.Of<sched::DelaySettings>();
  delay.rack_wait = delay.datacenter_wait = delay.off_wait = Seconds(10);
  Done mean;
  const std::uint32_t repeats = options.Repeat(20);
  for (std::uint32_t r = 0; r < repeats; ++r) {
    SimOptions sim = Seeded(options.seed * 1000 + r);
    sim.stop_at = Seconds(60 * kMinutes);
    const SimResult result = Run(cluster, Users(biased, setting.pause, sim.seed), scheduler, settings, sim);
    std::vector<JobRow> scans, computes;
    for (const JobRow& job : result.jobs) {
      if (job.Ended()) (job.group == "scan" ? scans : computes).push_back(job);
    }
    mean.scan += static_cast<double>(scans.size()) / repeats;
    mean.compute += static_cast<double>(computes.size()) / repeats;
    mean.scan_local += LocalityPercent(scans, Locality::kNode) / repeats;
    mean.compute_local += LocalityPercent(computes, Locality::kNode) / repeats;
  }
  return mean;
}

struct Waits {
  Done untuned, none, biased;
};

Waits RunAll(const Setting& setting, const Options& options) {
  return {RunUsers("fair+delay", false, setting, options), RunUsers("fair", false, setting, options),
          RunUsers("fair+delay", true, setting, options)};
}

void AddGains(const std::string& name, const Waits& waits, Table* table) {
  const auto gain = [](double with, double without) { return 100 * (with / without - 1); };
  table->rows.push_back({name, gain(waits.biased.scan, waits.none.scan), gain(waits.biased.compute, waits.none.compute),
                         gain(waits.biased.scan, waits.untuned.scan),
                         gain(waits.biased.compute, waits.untuned.compute)});
}

}  // namespace

std::vector<Table> HotSpot(const Options& options) {
  const Waits waits = RunAll({}, options);
  Table jobs{"figure 15: jobs done in 10 minutes, and node-local maps in %",
             {{"waits"}, {"scans"}, {"computations"}, {"scans, local %"}, {"computations, local %"}}};
  const auto add = [&](const char* name, const Done& done) {
    jobs.rows.push_back({name, done.scan, done.compute, done.scan_local, done.compute_local});
  };
  add("10 s for all", waits.untuned);
  add("none", waits.none);
  add("10 s for scans (biased)", waits.biased);
  Table gains{"gain of IO-rate biasing, %",
              {{"setting"},
               {"scans, over no waits", 0},
               {"computations, over no waits", 0},
               {"scans, over 10 s for all", 0},
               {"computations, over 10 s for all", 0}}};
  gains.rows.push_back({"paper", 8.0, 10.0, 15.0, 44.0});
  AddGains("ours", waits, &gains);
  AddGains("ours, 1 Gbit/s", RunAll({.link = kGigabit}, options), &gains);
  AddGains("ours, 10 s between jobs of a user", RunAll({.pause = 10}, options), &gains);
  AddGains("ours, 26 s between jobs of a user", RunAll({.pause = 26}, options), &gains);
  return {jobs, gains};
}

}  // namespace millrace::sim::experiments
