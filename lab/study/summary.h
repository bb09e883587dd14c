// SPDX-License-Identifier: Apache-2.0
// Combines the findings of several seeds: every figure gets its 95% confidence interval, and every claim a verdict.
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "lab/measure/estimate.h"
#include "lab/study/findings.h"

namespace millrace::sim::experiments {

// A table to print.
struct TextTable {
  std::string id;
  std::string caption;  // the title, with the numbers of seeds and repeats
  struct Column {
    std::string name;
    bool figures = true;  // aligned to the right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// Estimates a figure from one value per seed: MeanByT for a mean, RatioByBootstrapT for a figure relative to a
// baseline. If some seed has a ratio of 0, which has no logarithm, MeanByT is used for the ratio as well. Requires: at
// least two values.
[[nodiscard]] Estimate EstimateOf(Figure figure, const std::vector<double>& values);

// Returns the verdict on the claim, from the place of our interval: "yes" or "no" if the whole interval is inside or
// outside the expected range, else "undecided". For a size: "yes" if the interval and the range overlap, else "lower"
// or "higher". For an effect: "yes" if they overlap, else "yes, less" or "yes, more"; but, of intervals that do not
// overlap the range, "none" if the interval contains Expected::none, and "no, opposite" if the whole interval lies
// beyond Expected::none.
[[nodiscard]] std::string Verdict(const Expected& expected, const Estimate& ours);

// Returns the tables of the experiment, and a table of its claims, if any, with the id "claims". With one seed there
// are no intervals and no verdicts; a figure that is the same for every seed has no interval either. Requires: one or
// more findings of one experiment.
[[nodiscard]] std::vector<TextTable> Summarise(const std::vector<Findings>& seeds);

}  // namespace millrace::sim::experiments
