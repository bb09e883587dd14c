// Zaharia et al. sections 5.1, 5.2 and 6.2.5: what reduces that wait for maps keep from others, figure 6.
//
// Figure 6: 10 nodes of two map slots and one reduce slot. Jobs 1, 2 and 3 share them; 2 and 3 end, 1 takes every
// reduce slot and goes on with its maps; then comes job 4. The paper gives no numbers: job 1 has 2,000 maps of 10 s and
// 40 reduces, jobs 2 and 3 have 40 maps and 4 reduces, job 4 comes after 300 s with 20 maps and 4 reduces; a reduce
// computes for 10 s.
//
// Section 6.2.5: one job of 1.8 TB, 14,624 maps and 5,000 reduces on 450 nodes of 34 racks, 6 map and 4 reduce slots
// each. What the paper leaves open: a map takes 20 s and keeps what it reads; a rack's uplink has a tenth of its nodes'
// links ("bandwidth per node at an aggregation switch can be 10x lower", section 4); the reduces compute for as long as
// makes the job end with the paper's standard scheduling when it did.
#include <string>

#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"
#include "schedulers/policies/fair/fair_settings.h"

namespace millrace::sim::experiments {
namespace {

SimJob HoardingJob(std::uint32_t maps, std::uint32_t reduces, double submit, Random* random) {
  SimJob job = ScanJob(maps, 10);
  for (SimMap& map : job.maps) {
    map.cpu = Seconds(10 * Uniform(random, 0.9, 1.1));
    map.output = kMegabyte;
  }
  job.reduces.resize(reduces);
  for (SimReduce& reduce : job.reduces) reduce.cpu = Seconds(10 * Uniform(random, 0.9, 1.1));
  job.submit = Seconds(submit);
  return job;
}

Workload FourJobs(std::uint64_t seed) {
  Random random(seed);
  Workload workload;
  workload.jobs = {HoardingJob(2'000, 40, 0, &random), HoardingJob(40, 4, 0, &random), HoardingJob(40, 4, 0, &random),
                   HoardingJob(20, 4, 300, &random)};
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) workload.jobs[j].user = "u" + std::to_string(j + 1);
  return workload;
}

Table Hoarding(const Options& options) {
  Table table{"figure-6",
              "Figure 6: job 4 comes when job 1 holds every reduce slot",
              {{"scheduler"},
               Measured("job 4: turnaround, s"),
               Ratio("over its time alone"),
               Measured("job 1: turnaround, s", 0)}};
  const ClusterSpec cluster = MakeCluster(10, 1, 1, {2, 1});
  const Workload workload = FourJobs(options.seed);
  Workload alone;
  alone.jobs = {workload.jobs.back()};
  const auto seconds = [](const JobRow& job) { return static_cast<double>(job.Turnaround()) / 1e6; };
  sched::Settings settings;
  auto& fair = settings.Of<sched::FairSettings>();
  fair.min_share_timeout = fair.fair_share_timeout = Seconds(60);
  const double least = seconds(Run(cluster, alone, "fifo", settings, Seeded(options.seed)).jobs[0]);
  for (const char* scheduler : {"fifo", "fair", "fair+preempt", "fair+ccs", "fair+ccs+preempt"}) {
    const SimResult result = Run(cluster, workload, scheduler, settings, Seeded(options.seed));
    table.rows.push_back(
        {scheduler, seconds(result.jobs[3]), seconds(result.jobs[3]) / least, seconds(result.jobs[0])});
  }
  return table;
}

Workload LargeJob(std::uint64_t seed) {
  Random random(seed);
  Workload workload;
  SimJob job = ScanJob(14'624, 20);
  for (SimMap& map : job.maps) {
    map.cpu = Seconds(20 * Uniform(&random, 0.9, 1.1));
    map.output = map.bytes;
  }
  job.reduces.resize(5'000);
  for (SimReduce& reduce : job.reduces) reduce.cpu = Seconds(134 * Uniform(&random, 0.9, 1.1));
  workload.jobs.push_back(std::move(job));
  return workload;
}

Table OneJob(const Options& options) {
  Table table{"section-6.2.5",
              "Section 6.2.5: one job of 14,624 maps and 5,000 reduces on 450 nodes",
              {{"scheduler"},
               Given("paper: minutes", 1),
               Measured("minutes", 2),
               Given("paper: / fifo", 2),
               Ratio("/ fifo", 3)}};
  ClusterSpec cluster = MakeCluster(450, 34, 1, {6, 4});
  cluster.rack_bandwidth = 0.1 * kGigabit * 450 / 34;
  const Workload workload = LargeJob(options.seed);
  const auto minutes = [&](const char* scheduler) {
    return static_cast<double>(Run(cluster, workload, scheduler, {}, Seeded(options.seed)).summary.makespan) / 60e6;
  };
  const double fifo = minutes("fifo"), split = minutes("fifo+ccs");
  table.rows.push_back({"fifo", 12.9, fifo, 1.0, 1.0});
  table.rows.push_back({"fifo+ccs", 11.8, split, 11.8 / 12.9, split / fifo});
  return table;
}

}  // namespace

Findings HoardedSlots(const Options& options) {
  const Table hoarding = Hoarding(options);
  const Table one = OneJob(options);
  const auto four = [&](const char* scheduler) { return hoarding.Number(scheduler, "job 4: turnaround, s"); };
  std::vector<Claim> claims = {
      {"figure 6: turnaround of job 4, fair+ccs / fair", "does not starve", four("fair+ccs") / four("fair"),
       Ratio("", 3), AtMost(1)},
      {"section 6.2.5: end of the job, fifo+ccs / fifo", "0.91", one.Number("fifo+ccs", "/ fifo"), Ratio("", 3),
       Effect(11.8 / 12.9, 0.005, 1)},
  };
  return {{hoarding, one}, claims};
}

}  // namespace millrace::sim::experiments
