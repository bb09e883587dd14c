// Lim et al. section 5: open streams of jobs with deadlines, figures 6 to 13.
//
// There are 4 nodes of one map and one reduce slot. Small jobs have 3 maps, medium ones 10 and large ones 20, each with
// one reduce; a fourth stream mixes all three. Jobs arrive for five hours as a Poisson process. A deadline is the job's
// time alone times a number that is uniform in 1 to 5. Task times follow from what the paper says: the time alone (50,
// 80, 100 s) and the utilisation of the map slots at one rate (0.92, 0.89, 0.37); they vary by 10%. The paper's EDF
// does not interleave jobs (edf.exclusive); `edf` does. The time of the searches is not charged to the simulated clock.
// It differs between machines, so the benchmarks measure it.
#include <string>
#include <utility>

#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/simple/edf_settings.h"
#include "schedulers/sim/experiments/draw.h"
#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/run.h"

namespace millrace::sim::experiments {
namespace {

struct JobClass {
  const char* name;
  std::uint32_t maps;
  double map_seconds, reduce_seconds;
};
constexpr JobClass kSmall{"small", 3, 18.4, 31.6};
constexpr JobClass kMedium{"medium", 10, 13.4, 39.8};
constexpr JobClass kLarge{"large", 20, 5.2, 74};
constexpr std::uint32_t kSlots = 4;
constexpr double kHours = 5;

constexpr double kSpread = 0.1;  // task times vary by this share

double MostAlone(const JobClass& of) {
  const std::uint32_t waves = (of.maps + kSlots - 1) / kSlots;
  return (waves * of.map_seconds + of.reduce_seconds) * (1 + kSpread);
}

SimJob MakeJob(const JobClass& of, double at, Random* random) {
  const auto about = [random](double seconds) { return Seconds(seconds * Uniform(random, 1 - kSpread, 1 + kSpread)); };
  SimJob job;
  job.group = of.name;
  job.submit = Seconds(at);
  job.deadline = Seconds(MostAlone(of) * Uniform(random, 1, 5));
  job.map_time = Seconds(of.map_seconds);
  job.reduce_time = Seconds(of.reduce_seconds);
  job.slow_start = 1;  // in the paper's model (MRCP), reduces start after all maps
  for (std::uint32_t m = 0; m < of.maps; ++m) job.maps.push_back({kMegabyte / 2, about(of.map_seconds), kMegabyte / 2});
  job.reduces.push_back({1, about(of.reduce_seconds), 0});
  return job;
}

Workload Stream(const std::vector<JobClass>& classes, double interval, std::uint64_t seed) {
  Random random(seed);
  Workload workload;
  for (double at = 0; at < kHours * 3600; at += Exponential(&random, interval))
    workload.jobs.push_back(MakeJob(classes[random.Below(classes.size())], at, &random));
  return workload;
}

struct Contender {
  const char* name;
  const char* scheduler;
  bool exclusive;
  sched::CpSettings::Objective objective;
};
constexpr Contender kContenders[] = {
    {"EDF, one job at a time", "edf", true, sched::CpSettings::Objective::kMix},
    {"EDF", "edf", false, sched::CpSettings::Objective::kMix},
    {"CP, the paper's cost", "cp", false, sched::CpSettings::Objective::kPaper},
    {"CP, mixed cost", "cp", false, sched::CpSettings::Objective::kMix},
};

struct Outcome {
  double late = 0;        // the paper's P, in %
  double turnaround = 0;  // the paper's T, in seconds
};

Outcome MeanOf(const Contender& contender, const std::vector<JobClass>& classes, double interval,
               const Options& options) {
  sched::Settings settings;
  settings.Of<sched::EdfSettings>().exclusive = contender.exclusive;
  auto& cp = settings.Of<sched::CpSettings>();
  cp.objective = contender.objective;
  cp.evaluations = 300;
  const ClusterSpec cluster = MakeCluster(kSlots, 1, 1, {1, 1});
  const std::uint32_t streams = options.Repeat(3);
  Outcome mean;
  for (std::uint32_t i = 0; i < streams; ++i) {
    const std::uint64_t seed = options.seed * 100 + i;
    const Workload workload = Stream(classes, interval, seed);
    const Summary summary = Run(cluster, workload, contender.scheduler, settings, Seeded(seed)).summary;
    mean.late += 100 * summary.late / streams;
    mean.turnaround += summary.mean_turnaround / 1e6 / streams;
  }
  return mean;
}

std::string Rate(double interval) {
  const std::string digits = std::to_string(interval);
  return "1/" + digits.substr(0, digits.find('.') + 2);
}

std::pair<Table, Table> Tables(const std::string& name, const std::string& figures,
                               const std::vector<JobClass>& classes, const std::vector<double>& intervals,
                               const Options& options) {
  Table late{name + " workload: late jobs P, % (" + figures + ")", {{"scheduler"}}};
  Table turnaround{name + " workload: mean turnaround T, s (" + figures + ")", {{"scheduler"}}};
  for (const Contender& contender : kContenders) {
    late.rows.push_back({contender.name});
    turnaround.rows.push_back({contender.name});
  }
  for (const double interval : intervals) {
    late.columns.push_back({Rate(interval), 1});
    turnaround.columns.push_back({Rate(interval), 1});
    for (std::size_t c = 0; c < std::size(kContenders); ++c) {
      const Outcome outcome = MeanOf(kContenders[c], classes, interval, options);
      late.rows[c].emplace_back(outcome.late);
      turnaround.rows[c].emplace_back(outcome.turnaround);
    }
  }
  return {late, turnaround};
}

Table Claims(const Table& small, const Table& large) {
  constexpr std::string_view kTheirs = "EDF, one job at a time";
  constexpr std::string_view kOurs = "CP, mixed cost";
  Table claims{"what the paper says of them", {{"claim"}, {"paper"}, {"ours", 1}}};
  claims.rows.push_back({"large, 1/70: P of EDF, %", "49", large.Number(kTheirs, "1/70.0")});
  claims.rows.push_back({"large, 1/70: P of CP, %", "0", large.Number(kOurs, "1/70.0")});
  claims.rows.push_back({"small, 1/22.5: P of CP, %", "0", small.Number(kOurs, "1/22.5")});
  claims.rows.push_back({"small, 1/20: P of CP, %", "below 7", small.Number(kOurs, "1/20.0")});
  claims.rows.push_back({"small, 1/15: less late than EDF, %", "about 50",
                         100 * (1 - small.Number(kOurs, "1/15.0") / small.Number("EDF", "1/15.0"))});
  return claims;
}

}  // namespace

std::vector<Table> CpDeadlines(const Options& options) {
  const auto [mixed, mixed_t] =
      Tables("mixed", "figures 6 and 7", {kSmall, kMedium, kLarge}, {45, 40, 35, 30}, options);
  const auto [small, small_t] = Tables("small", "figures 8 and 9", {kSmall}, {22.5, 20, 17.5, 15}, options);
  const auto [medium, medium_t] = Tables("medium", "figures 10 and 11", {kMedium}, {45, 42.5, 40, 37.5}, options);
  const auto [large, large_t] = Tables("large", "figures 12 and 13", {kLarge}, {77.5, 75, 72.5, 70}, options);
  return {mixed, mixed_t, small, small_t, medium, medium_t, large, large_t, Claims(small, large)};
}

}  // namespace millrace::sim::experiments
