// Zaharia et al. section 6.1: the multi-user benchmark BM (table 2), figures 10 and 11.
//
// There are 100 nodes of 4 map and 2 reduce slots (Ec2Cluster), and 50 jobs of 9 sizes in a random order, which come as
// a Poisson process, one every 30 s on average. Each job draws its map time (9 to 60 s for a block of 128 MiB), the
// share of its input that the maps keep (0 to 1), its number of reduces (5% to 25% of its maps) and its reduce time
// (half of the map's per byte). T1 = 10 s.
#include <algorithm>
#include <array>
#include <map>

#include "schedulers/offering/delay_settings.h"
#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

struct Bin {
  std::uint32_t maps, jobs;
};
constexpr std::array<Bin, 9> kBins = {
    {{16, 29}, {40, 5}, {80, 4}, {160, 4}, {320, 3}, {600, 2}, {1200, 1}, {2400, 1}, {6400, 1}}};

SimJob DrawJob(std::uint32_t maps, Random* random) {
  const double map_seconds = Uniform(random, 9, 60);
  const double keep = random->Unit();
  SimJob job = ScanJob(maps, map_seconds);
  for (SimMap& map : job.maps) {
    map.cpu = Seconds(map_seconds * Uniform(random, 0.9, 1.1));
    map.output = static_cast<std::uint64_t>(keep * kBlock128);
  }
  const auto reduces = std::max(1U, static_cast<std::uint32_t>(maps * Uniform(random, 0.05, 0.25)));
  const double blocks = keep * maps / reduces;
  job.reduces.resize(reduces);
  for (SimReduce& reduce : job.reduces) reduce.cpu = Seconds(0.5 * map_seconds * blocks * Uniform(random, 0.9, 1.1));
  return job;
}

Workload Benchmark(std::uint64_t seed) {
  Workload workload;
  Random random(seed);
  std::vector<std::uint32_t> bins;
  for (std::uint32_t bin = 0; bin < kBins.size(); ++bin) bins.insert(bins.end(), kBins[bin].jobs, bin);
  Shuffle(&random, &bins);
  double at = 0;
  for (const std::uint32_t bin : bins) {
    SimJob job = DrawJob(kBins[bin].maps, &random);
    job.user = "u" + std::to_string(workload.jobs.size());
    job.group = std::to_string(bin);
    job.submit = Seconds(at);
    workload.jobs.push_back(std::move(job));
    at += Exponential(&random, 30);
  }
  return workload;
}

struct Gain {
  double mean = 0, most = 0;
};

// The results of one submission schedule, by scheduler.
using Runs = std::map<std::string, SimResult>;

Gain GainOf(const Runs& runs, const std::string& scheduler, const std::string& bin) {
  Gain gain;
  std::uint32_t jobs = 0;
  for (const JobRow& job : runs.at(scheduler).jobs) {
    if (!bin.empty() && job.group != bin) continue;
    const double factor =
        static_cast<double>(runs.at("fifo").jobs[job.job].Turnaround()) / static_cast<double>(job.Turnaround());
    gain.mean += factor;
    gain.most = std::max(gain.most, factor);
    ++jobs;
  }
  gain.mean /= jobs;
  return gain;
}

double BinLocality(const SimResult& result, const std::string& bin) {
  std::vector<JobRow> jobs;
  std::copy_if(result.jobs.begin(), result.jobs.end(), std::back_inserter(jobs),
               [&](const JobRow& job) { return job.group == bin; });
  return LocalityPercent(jobs, Locality::kNode);
}

Runs RunSchedule(std::uint64_t seed) {
  const ClusterSpec cluster = Ec2Cluster();
  const Workload workload = Benchmark(seed);
  sched::Settings settings;
  auto& delay = settings.Of<sched::DelaySettings>();
  delay.rack_wait = delay.datacenter_wait = delay.off_wait = Seconds(10);
  Runs runs;
  for (const char* scheduler : {"fifo", "fair", "fair+ccs", "fifo+ccs", "fair+delay+ccs"}) {
    runs.emplace(scheduler, Run(cluster, workload, scheduler, settings, Seeded(seed)));
  }
  return runs;
}

Table Schedules(const std::vector<Runs>& schedules) {
  Table table{"smallest jobs (bin 0): gains of fair+ccs over FIFO, schedules by rising mean gain over all jobs",
              {{"schedule"},
               {"mean gain", 2},
               {"most"},
               {"end under fifo, minutes", 0},
               {"under fair+ccs", 0},
               {"under fair+delay+ccs", 0}}};
  table.rows.push_back({"paper: median of three", "1.8 to 2", "4.6", "30 to 40", "30 to 40", "30 to 40"});
  table.rows.push_back({"paper: the other two", "2.5 and 5", "10 and 14", "30 to 40", "30 to 40", "30 to 40"});
  const std::pair<const char*, double> kPlaces[] = {
      {"least", 0}, {"a quarter has less", 0.25}, {"median", 0.5}, {"a quarter has more", 0.75}, {"most", 1}};
  for (const auto& [name, place] : kPlaces) {
    const Runs& runs = schedules[static_cast<std::size_t>(place * static_cast<double>(schedules.size() - 1))];
    const Gain gain = GainOf(runs, "fair+ccs", "0");
    const auto minutes = [&](const char* scheduler) {
      return static_cast<double>(runs.at(scheduler).summary.makespan) / 60e6;
    };
    table.rows.push_back({name, gain.mean, gain.most, minutes("fifo"), minutes("fair+ccs"), minutes("fair+delay+ccs")});
  }
  return table;
}

Table Gains(const Runs& runs) {
  Table table{"figure 10: response time in FIFO over that of the scheduler, mean / most of a bin, median schedule",
              {{"bin"}, {"maps", 0}}};
  const char* kSchedulers[] = {"fair", "fair+ccs", "fifo+ccs", "fair+delay+ccs"};
  for (const char* scheduler : kSchedulers) {
    table.columns.push_back({std::string(scheduler), 2});
    table.columns.push_back({std::string(scheduler) + ", most", 2});
  }
  for (std::uint32_t bin = 0; bin <= kBins.size(); ++bin) {
    const bool all = bin == kBins.size();
    std::vector<Cell> row = {all ? "all" : std::to_string(bin), all ? Cell() : Cell(1.0 * kBins[bin].maps)};
    for (const char* scheduler : kSchedulers) {
      const Gain gain = GainOf(runs, scheduler, all ? "" : std::to_string(bin));
      row.insert(row.end(), {gain.mean, gain.most});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Returns the means over all schedules, since no single schedule is typical.
Table MeanGains(const std::vector<Runs>& schedules) {
  Table table{"the same, mean gain of a bin over all schedules", {{"bin"}}};
  const char* kSchedulers[] = {"fair", "fair+ccs", "fifo+ccs", "fair+delay+ccs"};
  for (const char* scheduler : kSchedulers) table.columns.push_back({scheduler, 2});
  for (std::uint32_t bin = 0; bin < kBins.size(); ++bin) {
    std::vector<Cell> row = {std::to_string(bin)};
    for (const char* scheduler : kSchedulers) {
      double mean = 0;
      for (const Runs& runs : schedules) mean += GainOf(runs, scheduler, std::to_string(bin)).mean;
      row.emplace_back(mean / static_cast<double>(schedules.size()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table Locality(const Runs& runs) {
  Table table{"figure 11: node-local maps by bin, %, median schedule", {{"bin"}, {"paper: without"}}};
  const char* kSchedulers[] = {"fifo", "fair", "fair+ccs", "fair+delay+ccs"};
  for (const char* scheduler : kSchedulers) table.columns.push_back({scheduler});
  table.columns.push_back({"paper: fair+delay+ccs"});
  for (std::uint32_t bin = 0; bin < kBins.size(); ++bin) {
    std::vector<Cell> row = {std::to_string(bin), "15 to 95"};
    for (const char* scheduler : kSchedulers) row.emplace_back(BinLocality(runs.at(scheduler), std::to_string(bin)));
    row.emplace_back("99 to 100");
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<Table> MultiUser(const Options& options) {
  std::vector<Runs> schedules;
  for (std::uint32_t s = 0; s < options.Repeat(21); ++s) schedules.push_back(RunSchedule(options.seed * 1000 + s));
  std::sort(schedules.begin(), schedules.end(), [](const Runs& a, const Runs& b) {
    return GainOf(a, "fair+ccs", "").mean < GainOf(b, "fair+ccs", "").mean;
  });
  const Runs& median = schedules[schedules.size() / 2];
  return {Schedules(schedules), MeanGains(schedules), Gains(median), Locality(median)};
}

}  // namespace millrace::sim::experiments
