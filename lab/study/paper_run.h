// SPDX-License-Identifier: Apache-2.0
// RunPaper: runs the simulations that the tables and claims of a paper's file need, and fills them in. Thread rule: any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/measure/metrics.h"
#include "lab/study/findings.h"
#include "lab/study/paper.h"

namespace millrace::sim::experiments {

// The source of the figures of one seed.
class FigureSource {
 public:
  virtual ~FigureSource() = default;
  // Returns the figure at one of the operand's points under one of its schedulers, for each draw. `place` begins the
  // message of a failure.
  [[nodiscard]] virtual Result<std::vector<double>> Of(const Operand& operand, std::uint32_t point,
                                                       std::uint32_t scheduler, const std::string& place) = 0;
  // Returns the number of draws over which figures of this point are means; 0 if they are of one run.
  [[nodiscard]] virtual std::uint32_t DrawsOf(std::uint32_t point) const = 0;
};

// Returns the tables and claims of the paper with figures from this source.
[[nodiscard]] Result<Findings> FillIn(const Paper& paper, FigureSource& source);

// Returns the value of a metric; nothing if the run has none.
[[nodiscard]] std::optional<double> FigureOf(const Operand& operand, const SimResult& result);
// Returns the failure of a run that does not have the figure.
[[nodiscard]] Status HasNone(const Paper& paper, const Operand& operand, std::uint32_t point, std::uint32_t scheduler,
                             const std::string& place);

// Returns the tables and claims with the figures of one seed. A simulation is made once, however many figures are of
// it, and not at all if no figure is. With several draws a simulation's seed is 1000 * options.seed + the number of the
// draw, and figures are means over the draws before they are compared. Returns kInvalid, with the place in the file,
// for a figure that a run does not have (late jobs where no job has a deadline) and for a ratio to 0. Requires: the
// paper is one that is simulated.
[[nodiscard]] Result<Findings> RunPaper(const Paper& paper, const Options& options);

}  // namespace millrace::sim::experiments
