// The batches of jobs of Wang et al. section VI, and runs of them.
//
// Jobs and their numbers of tasks are those of table I. The paper leaves task times open. Task times are chosen so that
// the benchmarks that the paper calls map-intensive or reduce-intensive really are, that set B is balanced, as the
// paper says, and that the work fits the makespans of table II on 80 slots. Each task takes from 20% less to 20% more
// than that. Profiles are off by up to 30%, as in the paper. Reduces copy little. Under every scheduler reduces start
// when the maps of their job are done, as in FRESH's own model, since with Hadoop's slow start at 5% fair sharing would
// be far worse than in the paper.
//
// Thread rule: const calls from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/study/findings.h"

namespace millrace::sim::experiments {

enum FreshBenchmark : std::uint8_t {
  kClassification,
  kInvertedIndex,
  kWordCount,
  kGrep,
  kHistogramRatings,
  kHistogramMovies,
  kFreshBenchmarks,  // the number of benchmarks
};
[[nodiscard]] const char* NameOf(FreshBenchmark benchmark);

struct FreshJob {
  FreshBenchmark benchmark;
  bool large;  // true: 8 GB of input; false: 4 GB
};

// The thresholds of Algorithm 3, with the paper's values.
struct FreshThresholds {
  double tau_1 = 0.8, tau_2 = 0.6;
};

struct FreshOutcome {
  double makespan = 0;      // s
  double fairness = 0;      // the paper's fairness, over the jobs that have started
  double with_waiting = 0;  // that fairness, if jobs that have not started count, too, with a use of 0
};

class FreshBatch {
 public:
  // Submits all jobs at once, in Johnson's order.
  FreshBatch(std::vector<FreshJob> jobs, std::uint32_t nodes, const Options& options);
  // Submits the jobs in the order given, one every `interval` seconds.
  FreshBatch(std::vector<FreshJob> jobs, std::uint32_t nodes, double interval, const Options& options);

  // Returns the mean over the repetitions, on nodes with four slots, of which `map_slots` are for maps. With FRESH, at
  // most k jobs at a time are in their map phase and at most k in their reduce phase; with `fair`, at most k jobs run;
  // other schedulers ignore k. The thresholds are those of `fresh-dynamic`.
  [[nodiscard]] FreshOutcome Of(const std::string& scheduler, std::uint32_t map_slots, std::uint32_t k,
                                const FreshThresholds& thresholds = {}) const;

  [[nodiscard]] std::uint32_t jobs() const { return static_cast<std::uint32_t>(jobs_.size()); }
  // Returns a text such as "3 batches of drawn task times".
  [[nodiscard]] std::string repeats() const;

 private:
  std::vector<FreshJob> jobs_;
  std::uint32_t nodes_;
  double interval_;  // s
  bool johnson_;
  std::uint64_t seed_;
  std::uint32_t repeat_;
};

}  // namespace millrace::sim::experiments
