// Wang et al. section VI: makespan and fairness of mixed batches, figures 4 to 6 and table II, on 10 nodes of 4 slots
// (table II: 20). Task times are chosen: fresh_batch.h. Of fair sharing's three splits the paper compares with the one
// that it names, and where it says "FAIR SCHEDULER" alone (figures 5 and 6, table II) with Fair-2:2, the best by its
// figure 4: that is our reading.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lab/papers/fresh_batch.h"
#include "lab/papers/list.h"

namespace millrace::sim::experiments {
namespace {

using JobSet = std::vector<FreshJob>;

JobSet EqualSet(std::uint32_t large, std::uint32_t small) {
  JobSet batch;
  for (std::uint8_t b = 0; b < kFreshBenchmarks; ++b) {
    for (std::uint32_t i = 0; i < large + small; ++i) batch.push_back({static_cast<FreshBenchmark>(b), i < large});
  }
  return batch;
}

// Eight jobs of two benchmarks and one of each other one.
JobSet SkewedSet(FreshBenchmark first, FreshBenchmark second) {
  JobSet batch;
  for (std::uint8_t b = 0; b < kFreshBenchmarks; ++b) {
    const std::uint32_t jobs = b == first || b == second ? 4 : 1;
    for (std::uint32_t i = 0; i < jobs; ++i) batch.push_back({static_cast<FreshBenchmark>(b), i % 2 == 0});
  }
  return batch;
}

struct Contender {
  const char* name;
  const char* scheduler;
  std::uint32_t map_slots;
  double k;  // share of the jobs that may be in a phase at once; 0: one job
};
constexpr Contender kContenders[] = {
    {"FIFO", "fifo", 2, 1},
    {"Capacity", "capacity", 2, 1},
    {"Fair-1:3", "fair", 1, 1},
    {"Fair-2:2", "fair", 2, 1},
    {"Fair-3:1", "fair", 3, 1},
    {"FRESH-static:1", "fresh-static", 2, 0},
    {"FRESH-static:half", "fresh-static", 2, 0.5},
    {"FRESH-static:all", "fresh-static", 2, 1},
    {"FRESH:1", "fresh-dynamic", 2, 0},
    {"FRESH:half", "fresh-dynamic", 2, 0.5},
    {"FRESH:all", "fresh-dynamic", 2, 1},
};
constexpr const char* kFresh[] = {"FRESH:1", "FRESH:half", "FRESH:all"};
constexpr const char* kSets[] = {"A", "B", "C", "D", "E"};

std::uint32_t JobsAtOnce(const Contender& contender, std::uint32_t jobs) {
  return std::max(1U, static_cast<std::uint32_t>(contender.k * jobs));
}

JobSet SetOf(std::string_view name) {
  if (name == "A") return EqualSet(1, 1);
  if (name == "B") return EqualSet(1, 0);
  if (name == "C") return EqualSet(2, 2);
  return name == "D" ? SkewedSet(kClassification, kHistogramRatings) : SkewedSet(kInvertedIndex, kGrep);
}

Table TableTwo(const Options& options) {
  struct Printed {
    const char* name;
    double makespan, fairness;
  };
  constexpr Printed kPrinted[] = {{"FIFO", 1936, 0.598},
                                  {"Fair-2:2", 2263, 0.961},
                                  {"FRESH:1", 1560, 0.575},
                                  {"FRESH:half", 1571, 0.959},
                                  {"FRESH:all", 1590, 0.979}};
  Table table{"table-2",
              "Table II: set B on 20 nodes, makespans relative to Fair-2:2",
              {{"scheduler"},
               Given("paper: makespan, s"),
               Measured("makespan, s", 0),
               Given("paper: relative", 2),
               Ratio("relative"),
               Given("paper: fairness", 3),
               Measured("fairness", 3),
               Measured("with waiting jobs", 3)}};
  const FreshBatch bench(EqualSet(1, 0), 20, options);
  std::vector<FreshOutcome> outcomes;
  for (const Printed& printed : kPrinted) {
    const auto* contender = std::find_if(std::begin(kContenders), std::end(kContenders),
                                         [&](const Contender& c) { return std::string_view(c.name) == printed.name; });
    outcomes.push_back(bench.Of(contender->scheduler, contender->map_slots, JobsAtOnce(*contender, bench.jobs())));
  }
  for (std::size_t row = 0; row < std::size(kPrinted); ++row) {
    const Printed& printed = kPrinted[row];
    const FreshOutcome& ours = outcomes[row];
    table.rows.push_back({printed.name, printed.makespan, ours.makespan, printed.makespan / kPrinted[1].makespan,
                          ours.makespan / outcomes[1].makespan, printed.fairness, ours.fairness, ours.with_waiting});
  }
  return table;
}

// Section VI.A.1: "the performance is close" in these ranges. The last row, which is ours, takes the expected split
// always.
Table Thresholds(const Options& options) {
  Table table{
      "thresholds",
      "Section VI.A: FRESH:half under other thresholds, makespan relative to tau 1 = 0.8, tau 2 = 0.6",
      {{"tau 1"}, {"tau 2"}, Ratio("A", 3), Measured("fairness, A", 3), Ratio("D", 3), Measured("fairness, D", 3)}};
  constexpr FreshThresholds kPoints[] = {{0.8, 0.6}, {0.7, 0.5}, {0.7, 0.7}, {0.9, 0.5}, {0.9, 0.7}, {0, 0}};
  for (const FreshThresholds& point : kPoints) {
    const auto digits = [](double tau) { return tau == 0 ? std::string("0") : std::to_string(tau).substr(0, 3); };
    table.rows.push_back({digits(point.tau_1), digits(point.tau_2)});
  }
  for (const char* set : {"A", "D"}) {
    const FreshBatch bench(SetOf(set), 10, options);
    double usual = 0;
    for (std::size_t row = 0; row < std::size(kPoints); ++row) {
      const FreshOutcome ours = bench.Of("fresh-dynamic", 2, bench.jobs() / 2, kPoints[row]);
      if (row == 0) usual = ours.makespan;
      table.rows[row].insert(table.rows[row].end(), {ours.makespan / usual, ours.fairness});
    }
  }
  return table;
}

// Returns the most by which a row of the paper's ranges differs from its first, in %.
double MostOffByThresholds(const Table& thresholds) {
  double most = 0;
  for (std::size_t row = 1; row + 1 < thresholds.rows.size(); ++row) {
    for (const char* set : {"A", "D"}) most = std::max(most, 100 * std::abs(thresholds.Number(row, set) - 1));
  }
  return most;
}

// Returns by how many % FRESH-dynamic ends earlier than the named scheduler: the mean over these sets and its three k,
// since the paper does not say of which k its averages are.
double Gain(const Table& makespans, const std::vector<std::string>& sets, const char* than) {
  double sum = 0;
  for (const std::string& set : sets) {
    for (const char* fresh : kFresh) sum += 1 - makespans.Number(fresh, set) / makespans.Number(than, set);
  }
  return 100 * sum / static_cast<double>(sets.size() * std::size(kFresh));
}

// Returns the number of sets among B to E in which no other scheduler of figure 6 is less fair than FIFO.
double SetsWhereFifoIsLeastFair(const Table& fairness) {
  double sets = 0;
  for (const char* set : {"B", "C", "D", "E"}) {
    const double fifo = fairness.Number("FIFO", set);
    const char* kOthers[] = {"Capacity", "Fair-2:2", "FRESH:1", "FRESH:half", "FRESH:all"};
    sets += std::all_of(std::begin(kOthers), std::end(kOthers),
                        [&](const char* other) { return fairness.Number(other, set) >= fifo; })
                ? 1
                : 0;
  }
  return sets;
}

// Returns the number of sets among B to E in which no scheduler of figure 5 ends later than Fair-2:2.
double SetsWhereFairIsLast(const Table& makespans) {
  double sets = 0;
  for (const char* set : {"B", "C", "D", "E"}) {
    const char* kOthers[] = {"FIFO", "Capacity", "FRESH:1", "FRESH:half", "FRESH:all"};
    sets += std::all_of(
                std::begin(kOthers), std::end(kOthers),
                [&](const char* other) { return makespans.Number(other, set) <= makespans.Number("Fair-2:2", set); })
                ? 1
                : 0;
  }
  return sets;
}

std::vector<Claim> Claims(const Findings& findings, double five) {
  const Table &makespans = findings.Of("makespans"), &fairness = findings.Of("fairness");
  const Table& two = findings.Of("table-2");
  double best_fair = 0;
  for (const char* fair : {"Fair-1:3", "Fair-2:2", "Fair-3:1"})
    best_fair = std::max(best_fair, fairness.Number(fair, "A"));
  double least = 1, lead = 1;  // of FRESH:half and FRESH:all in B to E: fairness, and its distance from Fair-2:2's
  double static_all = 0;
  for (const char* set : {"B", "C", "D", "E"}) {
    for (const char* fresh : {"FRESH:half", "FRESH:all"}) {
      least = std::min(least, fairness.Number(fresh, set));
      lead = std::min(lead, fairness.Number(fresh, set) - fairness.Number("Fair-2:2", set));
    }
    static_all += makespans.Number("FRESH-static:all", set) / makespans.Number("Fair-2:2", set) / 4;
  }
  const std::vector<std::string> sets = {"B", "C", "D", "E"};
  return {
      {"set A, k = 5: makespan less than Fair-2:2's, %", "27.62", 100 * (1 - five / makespans.Number("Fair-2:2", "A")),
       Less("", 1), Effect(27.62, 0.005, 0)},
      {"set A: makespan of the better of Fair-1:3 and Fair-3:1 / Fair-2:2", "2:2 is the best",
       std::min(makespans.Number("Fair-1:3", "A"), makespans.Number("Fair-3:1", "A")) /
           makespans.Number("Fair-2:2", "A"),
       Ratio(""), AtLeast(1)},
      {"figure 5: sets of B to E in which Fair-2:2 ends last", "most (3 or more)", SetsWhereFairIsLast(makespans),
       Measured(""), AtLeast(3), Setting::kReading},
      {"tau 1 of 0.7 to 0.9 and tau 2 of 0.5 to 0.7: most by which the makespan differs, %", "close (within 2)",
       MostOffByThresholds(findings.Of("thresholds")), Measured(""), AtMost(2)},
      {"sets B to E, mean of the three k: less than Fair-2:2's, %", "31.32", Gain(makespans, sets, "Fair-2:2"),
       Less("", 1), Effect(31.32, 0.005, 0), Setting::kReading},
      {"sets B to E: less than Capacity's, %", "25.1", Gain(makespans, sets, "Capacity"), Less("", 1),
       Effect(25.1, 0.05, 0), Setting::kReading},
      {"sets D and E: less than FIFO's, %", "24.47", Gain(makespans, {"D", "E"}, "FIFO"), Less("", 1),
       Effect(24.47, 0.005, 0), Setting::kReading},
      {"sets B and C: less than FIFO's, %", "as well (within 5)", Gain(makespans, {"B", "C"}, "FIFO"), Less("", 1),
       Within(-5, 5), Setting::kReading},
      {"table II: makespan of FRESH:1 less than Fair's, %", "31.1", 100 * (1 - two.Number("FRESH:1", "relative")),
       Less("", 1), Effect(31.1, 0.05, 0), Setting::kReading},
      {"set A: the best fairness of a Fair setting", "around 0.8", best_fair, Measured("", 3), Size(0.8, 0.05)},
      {"set A: fairness of FRESH:half", "around 0.95", fairness.Number("FRESH:half", "A"), Measured("", 3),
       Size(0.95, 0.005)},
      {"figure 6: sets of B to E in which FIFO is the least fair", "4", SetsWhereFifoIsLeastFair(fairness),
       Measured(""), AtLeast(4)},
      {"figure 6: least fairness of FRESH:half and FRESH:all", "above 0.95", least, Measured("", 3), AtLeast(0.95)},
      {"figure 6: the least by which they are fairer than Fair-2:2", "above 0", lead, Measured("", 3), AtLeast(0),
       Setting::kReading},
      {"sets B to E: makespan of FRESH-static:all / Fair-2:2", "not worse (said of equal jobs)", static_all,
       Ratio("", 3), AtMost(1), Setting::kReading},
  };
}

}  // namespace

Findings FreshSets(const Options& options) {
  Table makespans{"makespans", "Figures 4 and 5: makespan on 10 nodes, s", {{"scheduler"}}};
  Table relative{"relative", "The same, relative to Fair-2:2", {{"scheduler"}}};
  Table fairness{"fairness", "Figures 4 and 6: overall fairness on 10 nodes", {{"scheduler"}}};
  for (const Contender& contender : kContenders) {
    for (Table* table : {&makespans, &relative, &fairness}) table->rows.push_back({contender.name});
  }
  for (const char* set : kSets) {
    makespans.columns.push_back(Measured(set, 0));
    relative.columns.push_back(Ratio(set));
    fairness.columns.push_back(Measured(set, 3));
    const FreshBatch bench(SetOf(set), 10, options);
    for (std::size_t c = 0; c < std::size(kContenders); ++c) {
      const Contender& contender = kContenders[c];
      const FreshOutcome ours = bench.Of(contender.scheduler, contender.map_slots, JobsAtOnce(contender, bench.jobs()));
      makespans.rows[c].push_back(ours.makespan);
      fairness.rows[c].push_back(ours.fairness);
    }
    for (std::size_t c = 0; c < std::size(kContenders); ++c)
      relative.rows[c].push_back(makespans.Number(c, set) / makespans.Number("Fair-2:2", set));
  }
  const double five = FreshBatch(SetOf("A"), 10, options).Of("fresh-dynamic", 2, 5).makespan;
  Findings findings{{makespans, relative, fairness, TableTwo(options), Thresholds(options)}};
  for (Table& table : findings.tables) table.repeats = FreshBatch({}, 10, options).repeats();
  findings.claims = Claims(findings, five);
  return findings;
}

}  // namespace millrace::sim::experiments
