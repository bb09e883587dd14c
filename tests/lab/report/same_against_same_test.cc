// SPDX-License-Identifier: Apache-2.0
// A scheduler compared with itself, where chance is all that differs: how often is a difference claimed?
//
// The simulator repeats itself exactly, so chance has to be put in where a live cluster has it: in where blocks lie and
// in which attempts are slow. Jobs and arrivals stay those of the seed. What is then compared differs from run to run
// as live runs do, but its cause is known to be none of the scheduler's.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/random.h"
#include "lab/model/simulate.h"
#include "lab/report/judge.h"
#include "lab/run/make_runs.h"
#include "lab/workload/simulation_file.h"

namespace millrace::compare {
namespace {

constexpr const char* kWorkload =
    "[cluster]\nnodes = 6\nracks = 2\nslow_share = 0.1\nslow_factor = 4\n[arrival]\nkind = \"poisson\"\nmean = 8\n"
    "[[jobs]]\nname = \"long\"\ncount = 3\nmaps = 24\nmap_time = { uniform = [5, 15] }\nreduces = 2\nreduce_time = 10\n"
    "user = \"a\"\n[[jobs]]\nname = \"short\"\ncount = 12\nmaps = 3\nmap_time = { uniform = [2, 6] }\nreduces = 1\n"
    "reduce_time = 3\nuser = [\"b\", \"c\"]\n";

class NoisyArena final : public Arena {
 public:
  explicit NoisyArena(std::uint64_t seed) : noise_(seed) {}
  [[nodiscard]] std::string Kind() const override { return "sim"; }
  [[nodiscard]] std::vector<NodeRow> Nodes() const override { return {}; }
  [[nodiscard]] Result<RunOutcome> Run(const RunRequest& request) override {
    sim::Overrides overrides;
    overrides.seed = request.seed;
    MILLRACE_ASSIGN(const sim::SimulationFile file, sim::ParseSimulation(kWorkload, "w", overrides));
    sim::SimOptions options;
    options.seed = noise_.Next();
    RunOutcome outcome;
    MILLRACE_ASSIGN(outcome.result,
                    sim::Simulate(file.cluster, file.workload, request.scheduler.scheduler, {}, options));
    return outcome;
  }

 private:
  Random noise_;
};

struct Claims {
  int comparisons = 0;  // of them those in which a headline metric differs
  double spread = 0;    // the widest interval of a ratio, high / low
};

Claims CompareWithItself(std::uint64_t seed) {
  Design design;
  design.schedulers = 2, design.blocks = 8, design.seed = seed * 1000;
  const TempDir directory = TempDir::Make("same").value();
  RunStore store = RunStore::Open(directory.path() + "/c", {}, design, 6, false).value();
  NoisyArena arena(seed);
  EXPECT_EQ(MakeRuns(arena, design, {{"fair", "fair"}, {"fair", "fair"}}, store, {}).value(), Making::kComplete);
  Claims claims;
  for (const JudgedMetric& metric : Judge(design, store.Counting(8), {"turnaround", "makespan", "fairness"}, {})) {
    if (!metric.headline) continue;
    const sim::Comparison& comparison = metric.comparison.schedulers[1];
    const bool claimed = comparison.verdict == sim::Verdict::kBetter || comparison.verdict == sim::Verdict::kWorse;
    if (claimed) claims.comparisons = 1;
    if (comparison.ratio) claims.spread = std::max(claims.spread, comparison.ratio->high / comparison.ratio->low);
  }
  return claims;
}

TEST(SameAgainstSame, OfTwentyComparisonsAtMostOneClaimsADifference) {
  int claimed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Claims claims = CompareWithItself(seed);
    claimed += claims.comparisons;
    EXPECT_GT(claims.spread, 1.01) << "there has to be chance in it; seed " << seed;
  }
  EXPECT_LE(claimed, 1);
  std::printf("%d of 20 comparisons of fair with itself claimed a difference\n", claimed);
}

}  // namespace
}  // namespace millrace::compare
