// Zaharia et al. sections 5.3, 5.4 and 6.2.6: what fair sharing does to a batch, figures 7 to 9 and table 4.
//
// Figure 7: two jobs, each 100 s of maps and 100 s of reduces alone. Figures 8 and 9: 10 nodes of one map and one
// reduce slot, 30 jobs of Zipf(1) sizes from 1 to 400 maps with 1 to maps/5 reduces at random intervals, 20 schedules.
// What the paper leaves open: a map takes 20 s, the reduces of a job half as long as its maps together and next to
// nothing to copy; 60 s between jobs on average; preemption after 60 s below the fair share.
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/check.h"
#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"
#include "schedulers/policies/fair/fair_settings.h"

namespace millrace::sim::experiments {
namespace {

SimJob BatchJob(std::uint32_t maps, double map_seconds, std::uint32_t reduces, double reduce_seconds) {
  SimJob job;
  job.maps.assign(maps, {kMegabyte, Seconds(map_seconds), kMegabyte});
  job.reduces.assign(reduces, {1, Seconds(reduce_seconds), 0});
  return job;
}

Table TwoJobs() {
  Table table{
      "figure-7", "Figure 7: two jobs, end of the batch in s", {{"scheduler"}, Given("paper"), Measured("ours")}};
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
  double makespan = 0, turnaround = 0;  // s
  double most = 0, mean = 0;            // slowdowns
  double space = 0;                     // bytes of map outputs, at their peak
};

struct Batches {
  std::map<std::string, Mean> means;  // by scheduler
  double fifo_first = 0;              // schedules that end first under a FIFO, or less than a thousandth later
};

constexpr const char* kSchedulers[] = {"fifo", "fifo+ccs", "fair", "fair+preempt", "fair+ccs", "fair+ccs+preempt"};
constexpr const char* kDisciplines[] = {"fifo", "fair", "sjf", "mlq"};  // table 4
constexpr std::uint32_t kSchedules = 20;

template <std::size_t kCount>
Batches RunBatches(const char* const (&schedulers)[kCount], double slow_start, const Options& options) {
  const ClusterSpec cluster = MakeCluster(10, 1, 1, {1, 1});
  sched::Settings settings;
  auto& fair = settings.Of<sched::FairSettings>();
  fair.min_share_timeout = fair.fair_share_timeout = Seconds(60);
  const std::uint32_t schedules = options.Repeat(kSchedules);
  Batches batches;
  for (std::uint32_t s = 0; s < schedules; ++s) {
    SimOptions sim = Seeded(options.seed * 1000 + s);
    const Workload workload = Schedule(sim.seed, slow_start);
    Result<std::vector<Micros>> alone = AloneTimes(cluster, workload, sim);
    MILLRACE_CHECK(alone.ok(), alone.status().message());
    sim.alone = std::move(*alone);
    std::map<std::string, double> ends;
    for (const char* scheduler : schedulers) {
      const Summary summary = Run(cluster, workload, scheduler, settings, sim).summary;
      Mean& mean = batches.means[scheduler];
      ends[scheduler] = static_cast<double>(summary.makespan);
      mean.makespan += static_cast<double>(summary.makespan) / 1e6 / schedules;
      mean.turnaround += summary.mean_turnaround / 1e6 / schedules;
      mean.most += summary.max_slowdown / schedules;
      mean.mean += summary.mean_slowdown / schedules;
      mean.space += static_cast<double>(summary.peak_space) / schedules;
    }
    const double fifo = ends.count("fifo+ccs") != 0 ? std::min(ends["fifo"], ends["fifo+ccs"]) : ends["fifo"];
    if (std::all_of(ends.begin(), ends.end(), [&](const auto& end) { return fifo <= 1.001 * end.second; })) {
      batches.fifo_first += 1.0 / schedules;
    }
  }
  return batches;
}

Table Slowdowns(const Batches& batches) {
  Table table{"figure-9",
              "Figures 8 and 9: reduces from a twentieth of the maps on",
              {{"scheduler"},
               Measured("batch, s", 0),
               Ratio("batch / fifo"),
               Measured("largest slowdown"),
               Ratio("largest / fifo"),
               Measured("mean slowdown"),
               Ratio("mean / fifo")}};
  const Mean& fifo = batches.means.at("fifo");
  for (const char* scheduler : kSchedulers) {
    const Mean& mean = batches.means.at(scheduler);
    table.rows.push_back({scheduler, mean.makespan, mean.makespan / fifo.makespan, mean.most, mean.most / fifo.most,
                          mean.mean, mean.mean / fifo.mean});
  }
  return table;
}

// The paper does not say after which share of the maps reduces start, so this looks at several.
Table OverShares(const std::vector<std::pair<double, Batches>>& shares) {
  Table table{"slow-start",
              "Figure 9: largest slowdown over that under fifo, by the share of maps done before reduces start",
              {{"share"},
               Ratio("fair"),
               Ratio("fair+preempt"),
               Ratio("fair+ccs"),
               Ratio("fair+ccs+preempt"),
               Measured("batch ends first under FIFO, % of schedules", 0)}};
  for (const auto& [share, batches] : shares) {
    char name[16];
    std::snprintf(name, sizeof name, "%.2f", share);
    std::vector<Cell> row = {name};
    for (const char* scheduler : {"fair", "fair+preempt", "fair+ccs", "fair+ccs+preempt"})
      row.emplace_back(batches.means.at(scheduler).most / batches.means.at("fifo").most);
    row.emplace_back(100 * batches.fifo_first);
    table.rows.push_back(std::move(row));
  }
  return table;
}

void AddSlowdownClaims(double share, const Batches& batches, std::vector<Claim>* claims) {
  char start[64];
  std::snprintf(start, sizeof start, "reduces from %.0f%% of the maps on: ", 100 * share);
  const auto most = [&](const char* scheduler) { return batches.means.at(scheduler).most; };
  const auto add = [&](const std::string& what, double ratio) {
    claims->push_back({start + what, "half", ratio, Ratio(""), Effect(0.5, 0.05, 1), Setting::kReading});
  };
  add("largest slowdown, fair / fifo", most("fair") / most("fifo"));
  add("fair+preempt / fair", most("fair+preempt") / most("fair"));
  add("fair+ccs / fair", most("fair+ccs") / most("fair"));
}

Table Disciplines(const Batches& batches) {
  Table table{"table-4",
              "Table 4: the disciplines relative to fifo, reduces after all maps",
              {{"discipline"},
               {"paper: batch"},
               Ratio("end of the batch"),
               {"paper: average response"},
               Ratio("mean turnaround"),
               {"paper: intermediate space"},
               Ratio("map outputs at their peak")}};
  constexpr const char* kPaper[][3] = {{"best", "bad", "best"},
                                       {"can suffer", "boundedly bad", "boundedly bad"},
                                       {"can suffer", "best", "unboundedly bad"},
                                       {"can suffer", "good", "boundedly bad"}};
  const Mean& fifo = batches.means.at("fifo");
  for (std::size_t d = 0; d < std::size(kDisciplines); ++d) {
    const Mean& mean = batches.means.at(kDisciplines[d]);
    table.rows.push_back({kDisciplines[d], kPaper[d][0], mean.makespan / fifo.makespan, kPaper[d][1],
                          mean.turnaround / fifo.turnaround, kPaper[d][2], mean.space / fifo.space});
  }
  return table;
}

// Section 6.2.6: five jobs of 100 GB, whose maps double it, on the EC2 cluster. A map takes 30 s and a reduce as long
// as makes fifo end when it did in the paper; what fair sharing then takes is not fitted.
SimResult RunFive(const char* scheduler, const Options& options) {
  Workload workload;
  Random random(options.seed);
  for (std::uint32_t j = 0; j < 5; ++j) {
    SimJob job = ScanJob(745, 30);
    for (SimMap& map : job.maps) {
      map.cpu = Seconds(30 * Uniform(&random, 0.9, 1.1));
      map.output = 2 * kBlock128;
    }
    job.user = "u" + std::to_string(j);
    job.reduces.resize(190);
    for (SimReduce& reduce : job.reduces) reduce.cpu = Seconds(237 * Uniform(&random, 0.9, 1.1));
    workload.jobs.push_back(std::move(job));
  }
  return Run(Ec2Cluster(kGigabit), workload, scheduler, {}, Seeded(options.seed));
}

Table FiveJobs(const Options& options) {
  Table table{"section-6.2.6",
              "Section 6.2.6: five large jobs on the EC2 cluster, end of the batch",
              {{"scheduler"}, {"paper: minutes"}, Measured("minutes"), Given("paper: / fifo", 2), Ratio("/ fifo")}};
  const auto minutes = [&](const char* scheduler) {
    return static_cast<double>(RunFive(scheduler, options).summary.makespan) / 60e6;
  };
  const double fifo = minutes("fifo");
  const double fair = minutes("fair");
  table.rows.push_back({"fifo", "22.1 ± 0.2", fifo, 1.0, 1.0});
  table.rows.push_back({"fair", "26.2 ± 0.3", fair, 1.19, fair / fifo});
  return table;
}

std::vector<Claim> Claims(const std::vector<std::pair<double, Batches>>& shares, const Batches& disciplines,
                          const Table& five) {
  const Batches& first = shares.front().second;
  std::vector<Claim> claims = {
      {"figure 9: largest slowdown under fifo", "routinely 90", first.means.at("fifo").most, Measured("", 0),
       AtLeast(90)},
      {"figure 8: schedules in which FIFO ends the batch first, %", "100", 100 * first.fifo_first, Measured("", 0),
       AtLeast(100)},
  };
  for (const auto& [share, batches] : shares) {
    if (share == 0.05 || share == 0.5) AddSlowdownClaims(share, batches, &claims);
  }
  const auto ratio = [&](double Mean::*what, const char* a, const char* b) {
    return disciplines.means.at(a).*what / disciplines.means.at(b).*what;
  };
  claims.push_back({"section 5.4: map outputs at their peak, fair / fifo", "more, boundedly",
                    ratio(&Mean::space, "fair", "fifo"), Ratio(""), AtLeast(1)});
  claims.push_back({"section 5.4: map outputs at their peak, sjf / fair", "more, unboundedly",
                    ratio(&Mean::space, "sjf", "fair"), Ratio(""), AtLeast(1)});
  for (const char* other : {"fair", "sjf", "mlq"}) {
    claims.push_back({std::string("table 4: end of the batch, ") + other + " / fifo", "fifo best",
                      ratio(&Mean::makespan, other, "fifo"), Ratio(""), AtLeast(1)});
  }
  claims.push_back({"table 4: mean turnaround, fair / fifo", "fifo bad, fair boundedly bad",
                    ratio(&Mean::turnaround, "fair", "fifo"), Ratio(""), AtMost(1)});
  claims.push_back({"table 4: mean turnaround, sjf / fair", "sjf best", ratio(&Mean::turnaround, "sjf", "fair"),
                    Ratio(""), AtMost(1)});
  claims.push_back({"table 4: mean turnaround, mlq / fair", "mlq good, fair boundedly bad",
                    ratio(&Mean::turnaround, "mlq", "fair"), Ratio(""), AtMost(1)});
  claims.push_back({"section 6.2.6: end of the batch, fair / fifo", "1.19", five.Number("fair", "/ fifo"), Ratio(""),
                    Effect(1.19, 0.005, 1)});
  return claims;
}

}  // namespace

Findings Batch(const Options& options) {
  std::vector<std::pair<double, Batches>> shares;
  for (const double share : {0.05, 0.1, 0.2, 0.3, 0.5, 1.0})
    shares.emplace_back(share, RunBatches(kSchedulers, share, options));
  const Batches disciplines = RunBatches(kDisciplines, 1, options);
  Findings findings{
      {TwoJobs(), Slowdowns(shares.front().second), OverShares(shares), Disciplines(disciplines), FiveJobs(options)}};
  for (const std::size_t table : {1U, 2U, 3U})
    findings.tables[table].repeats = Count(options.Repeat(kSchedules), "schedule");
  findings.claims = Claims(shares, disciplines, findings.tables[4]);
  return findings;
}

}  // namespace millrace::sim::experiments
