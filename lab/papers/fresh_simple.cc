// Wang et al. section VI.B.1: ten equal jobs, figure 3, on 10 nodes of 4 slots.
//
// A job every 2 s, each of 8 GB; k = 1, 3, 5, 10 jobs at once. Fair sharing with k = 1 is FIFO, as the paper says; with
// 3 and 5 it lets k jobs run, whatever their phase (FRESH counts the phases apart). The paper shows three of the six
// benchmarks and does not say which in the text that we have; here are a map-heavy, a reduce-heavy and a balanced one.
// Task times are chosen: fresh_batch.h.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/papers/fresh_batch.h"
#include "lab/papers/list.h"

namespace millrace::sim::experiments {
namespace {

constexpr FreshBenchmark kShown[] = {kClassification, kInvertedIndex, kWordCount};
constexpr std::uint32_t kJobsAtOnce[] = {1, 3, 5, 10};
constexpr std::uint32_t kJobs = 10;

struct Contender {
  const char* name;
  const char* scheduler;
  std::uint32_t map_slots;
};
constexpr Contender kContenders[] = {{"Fair-1:3", "fair", 1},
                                     {"Fair-2:2", "fair", 2},
                                     {"Fair-3:1", "fair", 3},
                                     {"FRESH-static", "fresh-static", 2},
                                     {"FRESH-dynamic", "fresh-dynamic", 2}};

using Outcomes = std::map<std::pair<std::string, std::uint32_t>, FreshOutcome>;  // by contender and k

Outcomes RunAll(FreshBenchmark benchmark, const Options& options) {
  const FreshBatch batch(std::vector<FreshJob>(kJobs, {benchmark, true}), 10, 2, options);
  Outcomes outcomes;
  for (const Contender& contender : kContenders) {
    for (const std::uint32_t k : kJobsAtOnce) {
      const bool fifo = k == 1 && std::string_view(contender.scheduler) == "fair";
      outcomes[{contender.name, k}] = batch.Of(fifo ? "fifo" : contender.scheduler, contender.map_slots, k);
    }
  }
  return outcomes;
}

Table TableOf(FreshBenchmark benchmark, const Outcomes& outcomes, const std::string& repeats) {
  Table table{NameOf(benchmark),
              std::string("Figure 3, ") + NameOf(benchmark) +
                  ": makespan of ten jobs relative to Fair-2:2 with all of them at once, and overall fairness",
              {{"scheduler"}}};
  table.repeats = repeats;
  for (const std::uint32_t k : kJobsAtOnce) table.columns.push_back(Ratio("k = " + std::to_string(k)));
  for (const std::uint32_t k : kJobsAtOnce) table.columns.push_back(Measured("fairness, k = " + std::to_string(k), 2));
  const double baseline = outcomes.at({"Fair-2:2", kJobs}).makespan;
  for (const Contender& contender : kContenders) {
    std::vector<Cell> row = {contender.name};
    for (const std::uint32_t k : kJobsAtOnce) row.emplace_back(outcomes.at({contender.name, k}).makespan / baseline);
    for (const std::uint32_t k : kJobsAtOnce) row.emplace_back(outcomes.at({contender.name, k}).fairness);
    table.rows.push_back(std::move(row));
  }
  return table;
}

double BestFair(const Outcomes& outcomes, std::uint32_t k) {
  double best = outcomes.at({"Fair-2:2", k}).makespan;
  for (const char* fair : {"Fair-1:3", "Fair-3:1"}) best = std::min(best, outcomes.at({fair, k}).makespan);
  return best;
}

bool FairnessRises(const char* contender, const Outcomes& outcomes) {
  double before = 0;
  for (const std::uint32_t k : kJobsAtOnce) {
    const double fairness = outcomes.at({contender, k}).fairness;
    if (fairness < before) return false;
    before = fairness;
  }
  return true;
}

double MeanRise(const std::vector<Outcomes>& benchmarks) {
  double sum = 0;
  for (const Outcomes& outcomes : benchmarks) {
    for (const Contender& contender : kContenders)
      sum += outcomes.at({contender.name, kJobs}).fairness - outcomes.at({contender.name, 1}).fairness;
  }
  return sum / static_cast<double>(benchmarks.size() * std::size(kContenders));
}

// Returns by how much FRESH-dynamic is fairer on average than the scheme that is the fairest of the others.
double FairnessLead(const std::vector<Outcomes>& benchmarks) {
  std::map<std::string, double> means;
  for (const Outcomes& outcomes : benchmarks) {
    for (const auto& [case_of, outcome] : outcomes)
      means[case_of.first] += outcome.fairness / static_cast<double>(benchmarks.size() * std::size(kJobsAtOnce));
  }
  const double ours = means.at("FRESH-dynamic");
  means.erase("FRESH-dynamic");
  return ours - std::max_element(means.begin(), means.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->second;
}

std::vector<Claim> Claims(const std::vector<Outcomes>& benchmarks) {
  double one_is_best = 0, worst_static = 0, gain = 0, few = 1, all = 1;
  double mean_static = 0, rising = 0;
  const double cases = static_cast<double>(benchmarks.size() * std::size(kJobsAtOnce));
  for (const Outcomes& outcomes : benchmarks) {
    const double one = BestFair(outcomes, 1);
    one_is_best += one <= std::min({BestFair(outcomes, 3), BestFair(outcomes, 5), BestFair(outcomes, 10)}) ? 1 : 0;
    for (const std::uint32_t k : kJobsAtOnce) {
      const double against_best = outcomes.at({"FRESH-static", k}).makespan / BestFair(outcomes, k);
      worst_static = std::max(worst_static, against_best);
      mean_static += against_best / cases;
      gain += 100 * (1 - outcomes.at({"FRESH-dynamic", k}).makespan / outcomes.at({"Fair-2:2", k}).makespan) / cases;
    }
    few = std::min({few, outcomes.at({"FRESH-dynamic", 3}).fairness, outcomes.at({"FRESH-dynamic", 5}).fairness});
    for (const Contender& contender : kContenders) rising += FairnessRises(contender.name, outcomes) ? 1 : 0;
    all = std::min({all, outcomes.at({"Fair-2:2", 10}).fairness, outcomes.at({"FRESH-dynamic", 10}).fairness});
  }
  return {
      {"benchmarks of 3 in which fair sharing's best makespan is that of k = 1", "mostly", one_is_best, Measured(""),
       AtLeast(2)},
      {"makespan of FRESH-static / of the best Fair setting, mean of all cases", "no worse", mean_static, Ratio("", 3),
       AtMost(1)},
      {"makespan of FRESH-static / of the best Fair setting, worst of all cases", "no worse", worst_static,
       Ratio("", 3), AtMost(1)},
      {"makespan of FRESH-dynamic less than Fair-2:2's, mean of all cases, %", "about 32.75", gain, Less("", 1),
       Effect(32.75, 0.005, 0), Setting::kReading},
      {"cases of 15 (schedulers and benchmarks) in which fairness rises with k at every step", "most (8 or more)",
       rising, Measured(""), AtLeast(8)},
      {"fairness with k = 10 less with k = 1, mean of all cases", "rises", MeanRise(benchmarks), Measured("", 3),
       AtLeast(0)},
      {"fairness of FRESH-dynamic less the best other scheme's, mean of all k and benchmarks", "outperforms all",
       FairnessLead(benchmarks), Measured("", 3), AtLeast(0)},
      {"least fairness of FRESH-dynamic with k = 3 and 5", "very close to 1 (0.95)", few, Measured("", 3),
       AtLeast(0.95)},
      {"least fairness with k = 10, Fair-2:2 and FRESH-dynamic", "good (0.95)", all, Measured("", 3), AtLeast(0.95)},
  };
}

}  // namespace

Findings FreshSimple(const Options& options) {
  Findings findings;
  std::vector<Outcomes> benchmarks;
  for (const FreshBenchmark benchmark : kShown) {
    benchmarks.push_back(RunAll(benchmark, options));
    findings.tables.push_back(TableOf(benchmark, benchmarks.back(), FreshBatch({}, 10, options).repeats()));
  }
  findings.claims = Claims(benchmarks);
  return findings;
}

}  // namespace millrace::sim::experiments
