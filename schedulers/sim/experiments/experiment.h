// What an experiment is: one of the papers' evaluations, run on this scheduler, and given as tables that put the
// paper's figure beside ours and as claims of the paper that ours bear out or contradict.
//
// One file an experiment, one line each in list.cc. An experiment runs for one seed and is deterministic: the same seed
// gives the same findings. What is published is over several seeds (summary.h). docs/papers.md says why a figure
// differs where it does. Thread rule: any thread; experiments share nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::sim::experiments {

// What a figure is, and so how those of several seeds are put together.
enum class Figure : std::uint8_t {
  kGiven,  // what the case is, what the paper printed, what a formula says: the same for every seed
  kMean,   // something measured: the mean
  kRatio,  // to the baseline under the same seed: the geometric mean
  kLess,   // by how many % it is less than the baseline under the same seed: 100 (1 - ratio)
  kMore,   // by how many % it is more: 100 (ratio - 1)
};

struct Column {
  std::string name;  // "paper" or "paper: ..." for what the paper printed; with the unit: "makespan, s"
  int decimals = 1;  // that mean something; texts ignore it
  Figure figure = Figure::kMean;
};
[[nodiscard]] Column Given(std::string name, int decimals = 0);
[[nodiscard]] Column Measured(std::string name, int decimals = 1);
[[nodiscard]] Column Ratio(std::string name, int decimals = 2);
[[nodiscard]] Column Less(std::string name, int decimals = 0);
[[nodiscard]] Column More(std::string name, int decimals = 0);

// Empty where there is no such figure: the paper is silent, or the case does not occur.
using Cell = std::variant<std::monostate, std::string, double>;

struct Table {
  std::string id;     // "figure-5": unique in its experiment
  std::string title;  // "Figure 5: node-local maps over the number of jobs, %"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};  // each as long as `columns`; the first cells say what the row is of
  std::string repeats = {};                  // of which a seed's figures are the means: "20 schedules"; empty: none

  // Returns the figure of that row in the column of this name. Aborts when there is no such row, column or figure.
  [[nodiscard]] double Number(std::size_t row, std::string_view column) const;
  // The same of the first row whose first cell is this text.
  [[nodiscard]] double Number(std::string_view row, std::string_view column) const;
  // The mean of that column over the rows. Aborts as Number does.
  [[nodiscard]] double MeanOf(std::string_view column) const;
};

// What a figure has to be for the paper to be right.
struct Expected {
  double low, high;  // it lies in here; infinite where there is no bound
  // The paper gives a size, and [low, high] is that size as far as it was printed: ours may have more or less of the
  // effect. An effect of none at all is `none` (0 for %, 1 for a ratio); absent for a size that is not an effect.
  bool size = false;
  std::optional<double> none = {};
};
[[nodiscard]] Expected AtLeast(double bound);
[[nodiscard]] Expected AtMost(double bound);
[[nodiscard]] Expected Within(double low, double high);
// `half_digit` is half a unit of the last digit that the paper printed.
[[nodiscard]] Expected Size(double size, double half_digit);
[[nodiscard]] Expected Effect(double size, double half_digit, double none);
// The paper has this order of some schedulers, and the figure is Kendall's tau of ours with it (TauOf).
[[nodiscard]] Expected SameOrder();
// Returns Kendall's tau-a of two orders of the same things, each given by a figure of every one: 1 if all pairs are in
// the same order, -1 if none is. A pair that is equal in one of them counts as neither.
[[nodiscard]] double TauOf(const std::vector<double>& paper, const std::vector<double>& ours);

// Whose the setting of a claim is.
enum class Setting : std::uint8_t {
  kPaper,    // the paper says of what its sentence is, as far as task times and the like go that it leaves to a model
  kReading,  // it leaves open of which baseline, algorithm or setting, and ours is one of several readings
  kOurs,     // the algorithm is not the paper's, which has a row of its own
};

// Something that the paper says of its results.
struct Claim {
  std::string text;   // "large, 1/70: P of CP, %"
  std::string paper;  // what the paper has: "0", "about half"
  double ours;
  Column how;  // name unused
  Expected expected;
  Setting setting = Setting::kPaper;
};

struct Findings {
  std::vector<Table> tables = {};
  std::vector<Claim> claims = {};

  // Returns the table of this id. Aborts when there is none.
  [[nodiscard]] const Table& Of(std::string_view id) const;
  // Returns our figure of the claim of this text. Aborts when there is none.
  [[nodiscard]] double Ours(std::string_view claim) const;
};

struct Options {
  std::uint64_t seed = 1;
  // Repetitions (schedules, placements) over which a figure is averaged within a seed: 1 is what docs/papers.md was
  // made with, less is quicker and noisier. Above 0.
  double effort = 1;

  // `full` repetitions at effort 1; at least 1.
  [[nodiscard]] std::uint32_t Repeat(std::uint32_t full) const;
};

struct Experiment {
  std::string_view name;   // "sticky-slots"
  std::string_view title;  // "sticky slots: node locality against the formula, without and with delay scheduling"
  std::string_view paper;  // "Zaharia et al. 2009, figure 5"
  Findings (*run)(const Options& options);
};

// Returns all experiments, in the order of docs/papers.md.
[[nodiscard]] const std::vector<Experiment>& ListExperiments();

}  // namespace millrace::sim::experiments
