// SPDX-License-Identifier: Apache-2.0
// Paper: the evaluation of one paper as a file. The file is a workload file (docs/schedulers/workloads.md) that also
// says of which paper it is, which schedulers run, what of the workload is varied, which tables are printed and what
// the paper claims. docs/schedulers/paper-files.md lists every key; in short:
//
//   [paper]
//   title = "Job Scheduling for Multi-User MapReduce Clusters"
//   authors = "Zaharia et al. 2009"
//   section = "figures 13, 14"
//   schedulers = ["fair", "fair+delay"]
//   [[sweep]]
//   name = "scans"
//   key = "jobs.scan.count"
//   values = [5, 10, 20]
//   [[tables]]
//   id = "figure-13"
//   head = "jobs"
//   points = [5, 10, 20]
//   columns = [{ name = "gain", sweep = "scans", metric = "makespan", of = "fair", as = "ratio",
//                against = { of = "fair+delay" } }]
//   [[claims]]
//   section = "figure 13"
//   text = "10 jobs: throughput with delay over without"
//   says = "1.1"
//   ...
//
// Thread rule: a value; const calls from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lab/report/metrics_of_run.h"
#include "lab/study/findings.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim::experiments {

// The place of the runs.
enum class Where : std::uint8_t { kSimulated, kLocal, kTestbed };

// One variation of the workload. A paper without sweeps has one point, which is its workload.
struct Point {
  std::string sweep = {}, label = {};                     // of the file; both empty for the workload as it stands
  std::vector<std::uint32_t> drawn_from = {};             // by scheduler: index in Paper::workloads
  std::map<std::uint32_t, sched::Variant> variants = {};  // the schedulers that are others here than in Paper
  std::uint32_t draws = 1;                                // simulations of a seed, over which a figure is a mean
  std::string place = {};                                 // "FILE:LINE: sweep[0]", for messages
  std::string testbed = {};                               // the testbed file of a live run
};

enum class As : std::uint8_t {
  kValue,
  kRatio,
  kLess,
  kMore,
  kApart,  // in %, by how much more or less
  kDifference,
  kNoMore,     // in how many % of the draws ours is not above theirs, by more than a thousandth
  kOrder,      // Kendall's tau of the schedulers' figures and those that the paper printed
  kLeastRise,  // the least difference between the figure at a point and at the point before
};
// How several figures become one. The last two are the number of figures above 0, or not below it.
enum class Over : std::uint8_t { kMean, kLeast, kMost, kAbove0, kNotBelow0 };

// What is measured: at each of the points and under each of the schedulers. First the figures of the points become one
// (`across`), then those of the schedulers (`pick`).
struct Operand {
  const compare::Metric* metric = nullptr;
  std::vector<std::string> classes = {};  // the jobs of all of these; empty: all jobs
  std::vector<std::uint32_t> points = {};
  Over across = Over::kLeast;
  std::vector<std::uint32_t> schedulers = {};
  Over pick = Over::kLeast;
  std::optional<std::uint32_t> baseline = {};  // the scheduler with whose run the jobs are compared, one by one
};

// How a figure of ours is computed: in each case `ours` alone or against `theirs`; then over the cases.
struct Reckoning {
  As as = As::kValue;
  Over over = Over::kMean;
  std::vector<Operand> ours = {}, theirs = {};  // by case; `theirs` is empty for a value
  std::optional<double> rank = {};              // 0 to 1: of the one draw at that place, by `ranked_by`; else the mean
  std::vector<Operand> ranked_by = {};          // by case
  std::vector<std::vector<double>> printed = {};  // of the paper, by case, or one for all: by scheduler
  double scale = 1;                               // of a value or difference
  std::string place = {};                         // for messages
};

// A cell is a text or number that the file gives, or is computed.
struct PaperCell {
  Cell given = {};
  std::optional<Reckoning> ours = {};
};

struct PaperTable {
  std::string id, title;
  std::vector<Column> columns;
  std::vector<std::vector<PaperCell>> rows;
};

struct PaperClaim {
  Claim claim;  // `ours` is 0
  Reckoning ours;
};

// A comparison that is run live, in the words of `millrace compare`.
struct LiveDesign {
  std::vector<std::string> metrics;  // that decide
  std::vector<std::string> shown;    // further metrics that the table shows
  std::uint32_t repeat = 8;
  std::uint32_t times = 1;  // that the whole comparison is made, each time with other seeds
  bool same_against_same = true, simulate = true;
};

struct Paper {
  std::string path;  // of the file
  std::string name, title, authors, section;
  Where where = Where::kSimulated;
  std::vector<sched::Variant> schedulers;
  std::uint32_t seeds = 10;
  std::string draw = "run", draws = "runs";  // what one draw and several are called: "20 schedules"
  // What some figure needs: the jobs' times alone, the samples of a run, the rows of its tasks.
  bool slowdowns = false, samples = false, tasks = false;
  std::vector<std::string> workloads;  // texts of workload files
  std::vector<Point> points;
  std::vector<PaperTable> tables;
  std::vector<PaperClaim> claims;
  LiveDesign live;
};

// Returns whether the text of a workload file has a section [paper]. A text that is not TOML has none, except that the
// error is returned if it has a line "[paper]" or the file's name ends with ".toml".
[[nodiscard]] Result<bool> IsPaper(std::string_view text, const std::string& file_name);

// Returns kInvalid, as one line with file, line, key and reason, for a file that ParseSimulation refuses, before or
// after a change of a sweep; for keys that do not exist and values out of range; for a class, scheduler, metric, sweep
// or point that the file names and does not have; and for a paper without tables and claims.
[[nodiscard]] Result<Paper> ParsePaper(std::string_view text, const std::string& file_name);
// Reads the file and parses it as ParsePaper does.
[[nodiscard]] Result<Paper> LoadPaper(const std::string& path);

}  // namespace millrace::sim::experiments
