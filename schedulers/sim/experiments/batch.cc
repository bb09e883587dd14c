// Zaharia et al. section 5.3: what fair sharing does to a batch, figures 7 to 9.
//
// Figure 7: two jobs, each 100 s of maps and 100 s of reduces alone. Figures 8 and 9: 10 nodes of one map and one
// reduce slot, 30 jobs of Zipf(1) sizes from 1 to 400 maps with 1 to maps/5 reduces at random intervals, 20 schedules.
// What the paper leaves open: a map takes 20 s, a reduce 60 s and next to nothing to copy; 60 s between jobs on
// average; preemption after 60 s below the fair share.
#include <algorithm>
#include <map>

#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

SimJob BatchJob(std::uint32_t maps, double map_seconds, std::uint32_t reduces, double reduce_seconds) {
  SimJob job;
  job.maps.assign(maps, {kMegabyte, Seconds(map_seconds), kMegabyte});
  job.reduces.assign(reduces, {1, Seconds(reduce_seconds), 0});
  return job;
}

Table TwoJobs() {
  Table table{"figure 7: two jobs, end of the batch in s", {{"scheduler"}, {"paper", 0}, {"ours"}}};
  const ClusterSpec cluster = MakeCluster(10, 1, 1, {1, 1});
  Workload workload;
  for (const char* user : {"a", "b"}) {
    workload.jobs.push_back(BatchJob(100, 10, 10, 100));
    workload.jobs.back().user = user;
    workload.jobs.back().slow_start = 1;
  }
  for (const auto& [scheduler, paper] : {std::pair("fifo", 300.0), std::pair("fair", 400.0)}) {
    const SimResult result = Run(cluster, workload, scheduler, {}, {});
    table.rows.push_back({scheduler, paper, static_cast<double>(result.summary.makespan) / 1e6});
  }
  return table;
}

Workload Schedule(std::uint64_t seed) {
  Workload workload;
  Random random(seed);
  double at = 0;
  for (std::uint32_t j = 0; j < 30; ++j) {
    const std::uint32_t maps = Zipf(&random, 400, 1);
    const auto reduces = static_cast<std::uint32_t>(1 + random.Below(std::max(1U, maps / 5)));
    SimJob job = BatchJob(maps, 20, reduces, 60);
    job.user = "u" + std::to_string(j);
    job.submit = Seconds(at);
    at += Exponential(&random, 60);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

struct Mean {
  double makespan = 0, most = 0, mean = 0;  // s, slowdowns
  double fifo_is_least = 0;                 // share of the schedules
};

}  // namespace

std::vector<Table> Batch(const Options& options) {
  const char* kSchedulers[] = {"fifo", "fifo+ccs", "fair", "fair+preempt", "fair+ccs", "fair+ccs+preempt"};
  const ClusterSpec cluster = MakeCluster(10, 1, 1, {1, 1});
  sched::Settings settings;
  settings.fair.min_share_timeout = settings.fair.fair_share_timeout = Seconds(60);
  std::map<std::string, Mean> means;
  const std::uint32_t schedules = options.Repeat(20);
  double worst = 0;
  double fifo_first = 0;
  for (std::uint32_t s = 0; s < schedules; ++s) {
    SimOptions sim = Seeded(options.seed * 1000 + s);
    const Workload workload = Schedule(sim.seed);
    sim.alone = *AloneTimes(cluster, workload, sim);
    std::map<std::string, double> ends;
    for (const char* scheduler : kSchedulers) {
      const Summary summary = Run(cluster, workload, scheduler, settings, sim).summary;
      Mean& mean = means[scheduler];
      ends[scheduler] = static_cast<double>(summary.makespan) / 1e6;
      mean.makespan += ends[scheduler] / schedules;
      mean.most += summary.max_slowdown / schedules;
      mean.mean += summary.mean_slowdown / schedules;
      if (std::string_view(scheduler) == "fifo") worst = std::max(worst, summary.max_slowdown);
    }
    const double fifo = std::min(ends["fifo"], ends["fifo+ccs"]);
    if (std::all_of(ends.begin(), ends.end(), [&](const auto& end) { return fifo <= end.second; })) ++fifo_first;
  }
  Table table{"figures 8 and 9: means over the schedules",
              {{"scheduler"}, {"batch, s", 0}, {"batch / fifo", 2}, {"largest slowdown"}, {"mean slowdown"}}};
  for (const char* scheduler : kSchedulers) {
    const Mean& mean = means[scheduler];
    table.rows.push_back({scheduler, mean.makespan, mean.makespan / means["fifo"].makespan, mean.most, mean.mean});
  }
  Table claims{"what the paper says of them", {{"claim"}, {"paper"}, {"ours", 1}}};
  claims.rows.push_back({"largest slowdown in FIFO, all schedules", "routinely 90", worst});
  claims.rows.push_back({"slowdown of fair / FIFO", "half", means["fair"].most / means["fifo"].most});
  claims.rows.push_back({"of fair+preempt / fair", "half", means["fair+preempt"].most / means["fair"].most});
  claims.rows.push_back({"of fair+ccs / fair", "half", means["fair+ccs"].most / means["fair"].most});
  claims.rows.push_back({"schedules whose batch ends first under FIFO, %", "100", 100 * fifo_first / schedules});
  return {TwoJobs(), table, claims};
}

}  // namespace millrace::sim::experiments
