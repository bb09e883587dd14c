// Zaharia et al. section 5.3: what fair sharing does to a batch, figures 7 to 9.
//
// Figure 7 has two jobs, each of which takes 100 s of maps and 100 s of reduces alone. Figures 8 and 9 have 10 nodes of
// one map and one reduce slot, and 30 jobs that come at random intervals: their sizes follow Zipf(1) from 1 to 400
// maps, with 1 to maps/5 reduces. There are 20 schedules. The paper leaves open what follows. Here a map takes 20 s,
// the reduces of a job take half as long as its maps together and copy next to nothing, jobs come 60 s apart on
// average, and preemption comes after 60 s below the fair share.
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/check.h"
#include "schedulers/policies/fair/fair_settings.h"
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

Workload Schedule(std::uint64_t seed, double slow_start) {
  Workload workload;
  Random random(seed);
  double at = 0;
  for (std::uint32_t j = 0; j < 30; ++j) {
    const std::uint32_t maps = Zipf(&random, 400, 1);
    const auto reduces = static_cast<std::uint32_t>(1 + random.Below(std::max(1U, maps / 5)));
    SimJob job = BatchJob(maps, 20, reduces, 10.0 * maps / reduces);
    job.user = "u" + std::to_string(j);
    job.slow_start = slow_start;
    job.submit = Seconds(at);
    at += Exponential(&random, 60);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

struct Mean {
  double makespan = 0, most = 0, mean = 0;  // seconds; the largest and the mean slowdown
};

struct Batches {
  std::map<std::string, Mean> means;  // by scheduler
  double worst_fifo = 0;              // the largest slowdown under FIFO in any schedule
  double fifo_first = 0;              // how many schedules end first under one of the two FIFOs
};

constexpr const char* kSchedulers[] = {"fifo", "fifo+ccs", "fair", "fair+preempt", "fair+ccs", "fair+ccs+preempt"};

Batches RunBatches(double slow_start, std::uint32_t schedules, const Options& options) {
  const ClusterSpec cluster = MakeCluster(10, 1, 1, {1, 1});
  sched::Settings settings;
  auto& fair = settings.Of<sched::FairSettings>();
  fair.min_share_timeout = fair.fair_share_timeout = Seconds(60);
  Batches batches;
  for (std::uint32_t s = 0; s < schedules; ++s) {
    SimOptions sim = Seeded(options.seed * 1000 + s);
    const Workload workload = Schedule(sim.seed, slow_start);
    Result<std::vector<Micros>> alone = AloneTimes(cluster, workload, sim);
    MILLRACE_CHECK(alone.ok(), alone.status().message());
    sim.alone = std::move(*alone);
    std::map<std::string, Micros> ends;
    for (const char* scheduler : kSchedulers) {
      const Summary summary = Run(cluster, workload, scheduler, settings, sim).summary;
      Mean& mean = batches.means[scheduler];
      ends[scheduler] = summary.makespan;
      mean.makespan += static_cast<double>(summary.makespan) / 1e6 / schedules;
      mean.most += summary.max_slowdown / schedules;
      mean.mean += summary.mean_slowdown / schedules;
      if (std::string_view(scheduler) == "fifo")
        batches.worst_fifo = std::max(batches.worst_fifo, summary.max_slowdown);
    }
    const Micros fifo = std::min(ends["fifo"], ends["fifo+ccs"]);
    if (std::all_of(ends.begin(), ends.end(), [&](const auto& end) { return fifo <= end.second; })) {
      batches.fifo_first += 1;
    }
  }
  return batches;
}

Table Slowdowns(const Batches& batches) {
  Table table{"figures 8 and 9: means over the schedules, reduces from a twentieth of the maps on",
              {{"scheduler"}, {"batch, s", 0}, {"batch / fifo", 2}, {"largest slowdown"}, {"mean slowdown"}}};
  for (const char* scheduler : kSchedulers) {
    const Mean& mean = batches.means.at(scheduler);
    table.rows.push_back(
        {scheduler, mean.makespan, mean.makespan / batches.means.at("fifo").makespan, mean.most, mean.mean});
  }
  return table;
}

// Checks the paper's claims for several slow starts (the share of the maps after which reduces start), since the paper
// does not give one.
Table Claims(const Batches& first, std::uint32_t schedules, const Options& options) {
  Table table{"what the paper says of them, over the share of maps done before reduces start",
              {{"share"},
               {"worst in FIFO", 0},
               {"fair / FIFO", 2},
               {"fair+preempt / fair", 2},
               {"fair+ccs / fair", 2},
               {"batch ends first under FIFO, %", 0}}};
  table.rows.push_back({"paper", "routinely 90", "half", "half", "half", 100.0});
  for (const double share : {0.05, 0.1, 0.2, 0.3, 0.5, 1.0}) {
    const Batches batches = share == 0.05 ? first : RunBatches(share, schedules, options);
    const auto most = [&](const char* scheduler) { return batches.means.at(scheduler).most; };
    char name[16];
    std::snprintf(name, sizeof name, "%.2f", share);
    table.rows.push_back({name, batches.worst_fifo, most("fair") / most("fifo"), most("fair+preempt") / most("fair"),
                          most("fair+ccs") / most("fair"), 100 * batches.fifo_first / schedules});
  }
  return table;
}

}  // namespace

std::vector<Table> Batch(const Options& options) {
  const std::uint32_t schedules = options.Repeat(20);
  const Batches batches = RunBatches(0.05, schedules, options);
  return {TwoJobs(), Slowdowns(batches), Claims(batches, schedules, options)};
}

}  // namespace millrace::sim::experiments
