// SPDX-License-Identifier: Apache-2.0
// Findings: the results of the evaluation of a paper on this scheduler. They are tables that put the paper's figure
// beside ours, and claims of the paper that our figures bear out or contradict.
//
// Findings are of one seed: the same seed gives the same findings. Published findings are over several seeds
// (summary.h). docs/schedulers/papers.md explains the figures that differ. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::sim::experiments {

// The kind of a figure, which decides how the figures of several seeds are combined.
enum class Figure : std::uint8_t {
  kGiven,  // the case, a figure that the paper printed, a result of a formula: the same for every seed
  kMean,   // a measurement: the mean
  kRatio,  // to the baseline under the same seed: the geometric mean
  kLess,   // by how many % it is less than the baseline under the same seed: 100 (1 - ratio)
  kMore,   // by how many % it is more than the baseline under the same seed: 100 (ratio - 1)
};

struct Column {
  std::string name;  // "paper" or "paper: ..." for a figure of the paper; with the unit: "makespan, s"
  int decimals = 1;  // the number of significant decimals; no meaning for texts
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
  std::vector<std::vector<Cell>> rows = {};  // each as long as `columns`; the first cells name the case
  std::string repeats = {};  // the repeats over which a seed's figures are means: "20 schedules"; empty: none

  // Returns the figure of this row in the column of this name. Aborts if there is no such row, column or figure.
  [[nodiscard]] double Number(std::size_t row, std::string_view column) const;
  // Returns the figure of the first row whose first cell is this text. Aborts if there is no such row, column or
  // figure.
  [[nodiscard]] double Number(std::string_view row, std::string_view column) const;
  // Returns the mean of the column over the rows. Aborts as Number does.
  [[nodiscard]] double MeanOf(std::string_view column) const;
};

// The range of a figure that bears the paper out.
struct Expected {
  double low, high;  // the bounds of the range; infinite where there is none
  // True if the paper gives a size, and [low, high] is that size to its printed precision. Our figure may then show
  // more or less of the effect. `none` is the figure that means no effect at all (0 for %, 1 for a ratio); it is absent
  // for a size that is not an effect.
  bool size = false;
  std::optional<double> none = {};
};
[[nodiscard]] Expected AtLeast(double bound);
[[nodiscard]] Expected AtMost(double bound);
[[nodiscard]] Expected Within(double low, double high);
// `half_digit` is half a unit of the last digit that the paper printed.
[[nodiscard]] Expected Size(double size, double half_digit);
[[nodiscard]] Expected Effect(double size, double half_digit, double none);
// Returns Kendall's tau-a of two orders of the same items, each given by one figure per item: 1 if all pairs of items
// are in the same order, -1 if no pair is. A pair that is equal in one of the orders counts neither as in the same
// order nor as in the reverse.
[[nodiscard]] double TauOf(const std::vector<double>& paper, const std::vector<double>& ours);

// The origin of the setting of a claim.
enum class Setting : std::uint8_t {
  kPaper,    // the paper states the setting, except for task times and the like, which it leaves to a model
  kReading,  // the paper leaves the baseline, algorithm or setting open, and ours is one of several readings
  kOurs,     // the algorithm is ours; the paper's has a row of its own
};

// A statement of the paper about its results.
struct Claim {
  std::string text;   // "large, 1/70: P of CP, %"
  std::string paper;  // the paper's figure: "0", "about half"
  double ours;
  Column how;  // name unused
  Expected expected;
  Setting setting = Setting::kPaper;
};

struct Findings {
  std::vector<Table> tables = {};
  std::vector<Claim> claims = {};

  // Returns the table with this id. Aborts if there is none.
  [[nodiscard]] const Table& Of(std::string_view id) const;
  // Returns our figure of the claim with this text. Aborts if there is none.
  [[nodiscard]] double Ours(std::string_view claim) const;
};

struct Options {
  std::uint64_t seed = 1;
  // Multiplies the number of repetitions (schedules, placements) over which a figure is averaged within a seed; above
  // 0. docs/schedulers/papers.md was made with 1; a lower value is quicker and noisier.
  double effort = 1;

  // Returns the number of repetitions, which is `full` at effort 1; at least 1.
  [[nodiscard]] std::uint32_t Repeat(std::uint32_t full) const;
};

}  // namespace millrace::sim::experiments
