// What an experiment is: one of the papers' evaluations, run on this scheduler, and given as tables that put the
// paper's figure beside ours.
//
// One file an experiment, one line each in list.cc. An experiment is deterministic: the same seed gives the same
// tables, on every machine; it takes seconds. docs/papers.md says what each shows and why a figure differs where it
// does. Thread rule: any thread; experiments share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::sim::experiments {

// Of a column of figures, the number of decimals that mean something; texts ignore it.
struct Column {
  std::string name;  // "paper" or "paper: ..." for what the paper printed; with the unit: "makespan, s"
  int decimals = 1;
};

// Empty where there is no such figure: the paper is silent, or the case does not occur.
using Cell = std::variant<std::monostate, std::string, double>;

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};  // each as long as `columns`; the first cells say what the row is of

  // Returns the figure of that row in the column of this name. Aborts when there is no such row, column or figure.
  [[nodiscard]] double Number(std::size_t row, std::string_view column) const;
  // The same of the first row whose first cell is this text.
  [[nodiscard]] double Number(std::string_view row, std::string_view column) const;
};

struct Options {
  std::uint64_t seed = 1;
  // Repetitions (schedules, placements) over which a figure is averaged: 1 is what docs/papers.md was made with, less
  // is quicker and noisier. Above 0.
  double effort = 1;

  // `full` repetitions at effort 1; at least 1.
  [[nodiscard]] std::uint32_t Repeat(std::uint32_t full) const;
};

struct Experiment {
  std::string_view name;   // "sticky-slots"
  std::string_view title;  // "sticky slots: node locality against the formula, without and with delay scheduling"
  std::string_view paper;  // "Zaharia et al. 2009, figure 5"
  std::vector<Table> (*run)(const Options& options);
};

// Returns all experiments, in the order of docs/papers.md.
[[nodiscard]] const std::vector<Experiment>& ListExperiments();

}  // namespace millrace::sim::experiments
