// SPDX-License-Identifier: Apache-2.0
// The tables of an experiment for people and for programs. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/study/findings.h"
#include "lab/study/summary.h"

namespace millrace::sim::experiments {

// Returns the table as text with aligned columns, figures to the right.
[[nodiscard]] std::string FormatTable(const TextTable& table);
// Returns the table in Markdown, as in docs/schedulers/papers.md; without a caption if that is empty.
[[nodiscard]] std::string FormatMarkdown(const TextTable& table);
// Returns the findings of one seed, before seeds are combined: {"experiment": name, "paper": ..., "seed": n, "tables":
// [{"id": ..., "title": ..., "columns": [...], "rows": [[...]]}], "claims": [{"claim": ..., "paper": ..., "ours": x}]};
// an empty cell is null.
[[nodiscard]] std::string FormatJson(std::string_view name, std::string_view paper, std::uint64_t seed,
                                     const Findings& findings);

}  // namespace millrace::sim::experiments
