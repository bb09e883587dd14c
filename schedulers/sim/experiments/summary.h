// Findings of several seeds put together: every figure with the interval in which it lies with 95% confidence, every
// claim with what follows for it. Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "schedulers/sim/experiments/experiment.h"
#include "schedulers/sim/statistics/estimate.h"

namespace millrace::sim::experiments {

// A table to print.
struct TextTable {
  std::string id;
  std::string caption;  // the title, how many seeds and repeats
  struct Column {
    std::string name;
    bool figures = true;  // aligned to the right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// Estimates a figure from one value a seed: a mean by t, whatever is relative to a baseline by bootstrap-t on the
// logarithm of the ratio. Where some seed has a ratio of 0 there is no logarithm, and it is the mean by t as well.
// Requires: at least two values.
[[nodiscard]] Estimate EstimateOf(Figure figure, const std::vector<double>& values);

// What follows for the claim, from where the interval lies: "yes" or "no" if all of it is inside or outside of what is
// expected, else "undecided"; for a size "yes" if the two overlap, else "lower" or "higher"; for an effect "yes" if the
// two overlap, else "yes, less" or "yes, more", "none" if the interval holds no effect and "no, opposite" beyond it.
[[nodiscard]] std::string Verdict(const Expected& expected, const Estimate& ours);

// Returns the tables of the experiment, and if there are claims a table of them, of the id "claims". With one seed
// there are no intervals and no verdicts; a figure that is the same for every seed has no interval either. Requires:
// one or more findings of one experiment.
[[nodiscard]] std::vector<TextTable> Summarise(const std::vector<Findings>& seeds);

}  // namespace millrace::sim::experiments
