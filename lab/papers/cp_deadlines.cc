// Lim et al. section 5: open streams of jobs with deadlines, figures 6 to 13.
//
// 4 nodes of one map and one reduce slot; small jobs of 3 maps, medium ones of 10, large ones of 20, one reduce each,
// and all three mixed; Poisson arrivals for five hours; a deadline is the job's time alone x a number uniform in 1
// to 5. Task times follow from what the paper says: time alone (50, 80, 100 s) and utilisation of the map slots at one
// rate (0.92, 0.89, 0.37); they vary by 10%. The paper's EDF does not interleave jobs (edf.exclusive); `edf` does. The
// time of the searches is not charged to the simulated clock, and their cost is in the benchmarks, for it differs
// between machines.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "lab/papers/draw.h"
#include "lab/papers/list.h"
#include "lab/papers/run.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/simple/edf_settings.h"

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

constexpr double kSpread = 0.1;  // of task times

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
  job.slow_start = 1;  // MRCP: reduces after all maps
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
constexpr std::string_view kExclusive = "EDF, one job at a time";
constexpr std::string_view kPaperCost = "CP, the paper's cost";
constexpr std::uint32_t kStreams = 3;

struct Outcome {
  double late = 0;        // P, %
  double turnaround = 0;  // T, s
};

Outcome MeanOf(const Contender& contender, const std::vector<JobClass>& classes, double interval,
               const Options& options) {
  sched::Settings settings;
  settings.Of<sched::EdfSettings>().exclusive = contender.exclusive;
  auto& cp = settings.Of<sched::CpSettings>();
  cp.objective = contender.objective;
  cp.evaluations = 300;
  const ClusterSpec cluster = MakeCluster(kSlots, 1, 1, {1, 1});
  const std::uint32_t streams = options.Repeat(kStreams);
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

struct Study {
  const char* name;     // of the workload
  const char* figures;  // "6 and 7"
  std::vector<JobClass> classes;
  std::vector<double> intervals;
};

struct Results {
  Table late, turnaround;
};

Results RunStudy(const Study& study, const Options& options) {
  const std::string name = study.name;
  const std::string figures = std::string("Figures ") + study.figures + ", " + name + " workload: ";
  Results results{{name + "-late", figures + "late jobs P, %", {{"scheduler"}}},
                  {name + "-turnaround", figures + "mean turnaround T, s", {{"scheduler"}}}};
  for (Table* table : {&results.late, &results.turnaround}) {
    table->repeats = Count(options.Repeat(kStreams), "stream");
    for (const Contender& contender : kContenders) table->rows.push_back({contender.name});
  }
  for (const double interval : study.intervals) {
    results.late.columns.push_back(Measured(Rate(interval), 1));
    results.turnaround.columns.push_back(Measured(Rate(interval), 1));
    for (std::size_t c = 0; c < std::size(kContenders); ++c) {
      const Outcome outcome = MeanOf(kContenders[c], study.classes, interval, options);
      results.late.rows[c].emplace_back(outcome.late);
      results.turnaround.rows[c].emplace_back(outcome.turnaround);
    }
  }
  return results;
}

enum class Over : std::uint8_t { kLeast, kMean, kMost };  // of the rates

// Returns by how many % CP is below the paper's EDF at this rate.
double LessAt(const Table& table, const std::string& rate) {
  return 100 * (1 - table.Number(kPaperCost, rate) / table.Number(kExclusive, rate));
}

// Returns the same over the rates of the table.
double LessOver(const Table& table, Over over) {
  double least = 100, most = -1e9, sum = 0;
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    const double less = LessAt(table, table.columns[c].name);
    least = std::min(least, less);
    most = std::max(most, less);
    sum += less;
  }
  if (over == Over::kMean) return sum / static_cast<double>(table.columns.size() - 1);
  return over == Over::kLeast ? least : most;
}

// The paper's, of its CP against its EDF. Every comparison is with the exclusive EDF, a reading of what the paper says
// of its own, and of the paper's cost.
std::vector<Claim> Claims(const Results& mixed, const Results& small, const Results& medium, const Results& large) {
  const auto less = [](const std::string& text, const char* paper, const Table& table, Over over, double size) {
    return Claim{text, paper, LessOver(table, over), Less(""), Effect(size, 0.5, 0), Setting::kReading};
  };
  const auto late = [](const Results& results, std::string_view who, const char* rate) {
    return results.late.Number(who, rate);
  };
  return {
      less("mixed: P less than EDF's, at most, %", "91", mixed.late, Over::kMost, 91),
      less("mixed: T less than EDF's, at most, %", "57", mixed.turnaround, Over::kMost, 57),
      less("small: P less than EDF's, mean over the rates, %", "78", small.late, Over::kMean, 78),
      less("small: T less than EDF's, at most, %", "80", small.turnaround, Over::kMost, 80),
      {"small, 1/15: P less than EDF's, %", "about 50", LessAt(small.late, "1/15.0"), Less(""), Effect(50, 5, 0),
       Setting::kReading},
      less("medium: P less than EDF's, mean over the rates, %", "88", medium.late, Over::kMean, 88),
      less("large: T less than EDF's, at least, %", "32", large.turnaround, Over::kLeast, 32),
      {"large, 1/70: T less than EDF's, %", "100", LessAt(large.turnaround, "1/70.0"), Less(""), Effect(100, 0.5, 0),
       Setting::kReading},
      {"large, 1/70: P of EDF, %", "49", late(large, kExclusive, "1/70.0"), Measured(""), Size(49, 0.5),
       Setting::kReading},
      {"large, 1/70: P of CP, %", "0 (below 0.5)", late(large, kPaperCost, "1/70.0"), Measured(""), AtMost(0.5)},
      {"small, 1/22.5: P of EDF, %", "0 (below 0.5)", late(small, kExclusive, "1/22.5"), Measured(""), AtMost(0.5),
       Setting::kReading},
      {"small, 1/22.5: P of CP, %", "0 (below 0.5)", late(small, kPaperCost, "1/22.5"), Measured(""), AtMost(0.5)},
      {"small, 1/20: P of CP, %", "below 7", late(small, kPaperCost, "1/20.0"), Measured(""), AtMost(7)},
      {"medium, 1/45: P of EDF, %", "0 (below 0.5)", late(medium, kExclusive, "1/45.0"), Measured(""), AtMost(0.5),
       Setting::kReading},
      {"medium, 1/45: P of CP, %", "0 (below 0.5)", late(medium, kPaperCost, "1/45.0"), Measured(""), AtMost(0.5)},
      {"small, 1/22.5: T of CP / EDF", "1.1",
       small.turnaround.Number(kPaperCost, "1/22.5") / small.turnaround.Number(kExclusive, "1/22.5"), Ratio(""),
       Effect(1.1, 0.05, 1), Setting::kReading},
  };
}

// What CP gains over the EDF that keeps the slots busy, which the paper did not measure. P in points, since it is 0
// under both in some runs.
Table AgainstEdf(const std::vector<std::pair<std::string, const Results*>>& all) {
  Table table{"against-edf",
              "CP against the EDF that interleaves jobs, lowest and highest rate of each workload",
              {{"workload"},
               {"rates"},
               Measured("P, points less, lowest"),
               Measured("P, points less, highest"),
               Less("T, % less, lowest"),
               Less("T, % less, highest")}};
  for (const auto& [name, results] : all) {
    const std::string low = results->late.columns[1].name;
    const std::string high = results->late.columns.back().name;
    for (const char* cp : {"CP, the paper's cost", "CP, mixed cost"}) {
      const auto points = [&](const std::string& rate) {
        return results->late.Number("EDF", rate) - results->late.Number(cp, rate);
      };
      const auto percent = [&](const std::string& rate) {
        return 100 * (1 - results->turnaround.Number(cp, rate) / results->turnaround.Number("EDF", rate));
      };
      table.rows.push_back(
          {name + ", " + (cp + 4), low + ", " + high, points(low), points(high), percent(low), percent(high)});
    }
  }
  table.repeats = all.front().second->late.repeats;
  return table;
}

}  // namespace

Findings CpDeadlines(const Options& options) {
  const Results mixed = RunStudy({"mixed", "6 and 7", {kSmall, kMedium, kLarge}, {45, 40, 35, 30}}, options);
  const Results small = RunStudy({"small", "8 and 9", {kSmall}, {22.5, 20, 17.5, 15}}, options);
  const Results medium = RunStudy({"medium", "10 and 11", {kMedium}, {45, 42.5, 40, 37.5}}, options);
  const Results large = RunStudy({"large", "12 and 13", {kLarge}, {77.5, 75, 72.5, 70}}, options);
  Findings findings;
  for (const Results* results : {&mixed, &small, &medium, &large}) {
    findings.tables.push_back(results->late);
    findings.tables.push_back(results->turnaround);
  }
  findings.tables.push_back(AgainstEdf({{"mixed", &mixed}, {"small", &small}, {"medium", &medium}, {"large", &large}}));
  findings.claims = Claims(mixed, small, medium, large);
  return findings;
}

}  // namespace millrace::sim::experiments
