// SPDX-License-Identifier: Apache-2.0
// The words of a paper's file that say what a figure is, in a claim, a table, a row or a column, and the figure that
// they name (docs/schedulers/paper-files.md#figures). Private to lab/study. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/study/paper.h"
#include "lab/workload/toml_section.h"

namespace millrace::sim::experiments {

// Words that say what an operand is. Words that are missing are taken from elsewhere.
struct OperandWords {
  std::optional<std::string> metric, baseline, pick, across;
  std::vector<std::string> classes, sweeps, points, of;
};

struct FigureWords {
  OperandWords ours, theirs, ranked_by;
  bool against = false;
  std::optional<std::string> as, over, unit;
  std::optional<std::uint32_t> decimals;
  std::optional<double> rank;
  std::vector<std::vector<std::string>> each_class;
  std::vector<std::string> each_of;
  std::vector<std::vector<double>> printed;
};

// Returns the words of `first`, and of `second` those that `first` has not.
[[nodiscard]] FigureWords Or(FigureWords first, const FigureWords& second);

// Reads the words that the section has.
[[nodiscard]] FigureWords ReadFigureWords(TomlSection& section);

// Returns the figure that the words name. Fails the section, and returns any figure, if they name what the paper has
// not. `classes` are the classes of jobs of all points. Requires: the paper's points and schedulers are known.
[[nodiscard]] Reckoning Reckon(const Paper& paper, const std::vector<std::string>& classes, TomlSection& section,
                               const FigureWords& words);

// Returns the column of such figures.
[[nodiscard]] Column ColumnOf(const std::string& name, const FigureWords& words, As as);

}  // namespace millrace::sim::experiments
