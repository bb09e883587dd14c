// SPDX-License-Identifier: Apache-2.0
// Papers that are run live: the comparisons that they ask for, and the page that is made of their results
// (docs/schedulers/experiments.md). Thread rule: any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/study/page.h"
#include "lab/study/paper.h"

namespace millrace::sim::experiments {

// One comparison that a paper asks for.
struct LiveComparison {
  std::string name;                // of its directory, "slots-2-2"
  std::uint32_t point = 0;         // of the paper
  std::string workload;            // the name of its workload file: the paper's own, or NAME.toml with the text below
  std::string text;                // of a workload that a sweep changes; else empty
  std::vector<std::string> words;  // after "millrace", without -o and its directory
};
[[nodiscard]] std::vector<LiveComparison> ComparisonsOf(const Paper& paper);

// Returns kInvalid, as one line with file and line, for papers whose comparisons cannot be run or kept: a testbed that
// is missing, is not a file beside the paper's, or is given for local runs; and two points whose results would
// overwrite each other. Requires: live papers.
[[nodiscard]] Status CheckLive(const std::vector<Paper>& papers);

// Returns lines for a shell that make each testbed, run what has not been run yet, and take the testbed down.
// `testbed` is the program; results go below `directory`, where the workloads of sweeps are expected, too.
[[nodiscard]] std::string PlanOf(const std::vector<Paper>& papers, const std::string& testbed,
                                 const std::string& directory);

struct LivePage {
  PageTables tables;
  std::map<std::string, std::string> pictures;  // SVG, by the name of the paper
  std::vector<std::string> missing;             // names of comparisons that have no results
  std::vector<std::string> left_alone;          // names of papers and tables for which nothing was made
};
// Makes the tables of these papers from the results in `directory`. A paper without results gets no table, nor does a
// paper with tables of its own if some of its results are missing. The table `live-and-simulated` is made if all papers
// with tables on `page` are given and have all results. Fails as LiveResults does.
[[nodiscard]] Result<LivePage> MakeLivePage(std::vector<Paper> papers, const std::string& directory,
                                            const std::string& page);

}  // namespace millrace::sim::experiments
