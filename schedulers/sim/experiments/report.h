// The tables of an experiment for people and for programs. Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "schedulers/sim/experiments/experiment.h"

namespace millrace::sim::experiments {

// Text with aligned columns, figures to the right; an empty cell is "-".
[[nodiscard]] std::string FormatTable(const Table& table);
// The same as a Markdown table, as in docs/papers.md.
[[nodiscard]] std::string FormatMarkdown(const Table& table);
// {"experiment": name, "paper": ..., "seed": n, "tables": [{"title": ..., "columns": [...], "rows": [[...]]}]}; an
// empty cell is null.
[[nodiscard]] std::string FormatJson(const Experiment& experiment, const Options& options,
                                     const std::vector<Table>& tables);

}  // namespace millrace::sim::experiments
