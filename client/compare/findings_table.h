// The outcome of a comparison for people, on a terminal. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "client/compare/document.h"

namespace millrace::compare {

// Returns rows of cells, the head first: for each metric a line of the baseline and one of each other scheduler.
// Without `wide` they are the headline metrics, and the columns fit into a terminal of 80.
[[nodiscard]] std::vector<std::vector<std::string>> FindingsTable(const Material& material, bool wide);

// Returns for each headline metric which schedulers are shown to be beaten by none.
[[nodiscard]] std::vector<std::string> WinnerLines(const Material& material);

// Returns rows of cells that say what each metric is.
[[nodiscard]] std::vector<std::vector<std::string>> MetricsTable();

}  // namespace millrace::compare
