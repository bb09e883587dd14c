// SPDX-License-Identifier: Apache-2.0
// Advice names the schedulers that would have served a cluster best by one goal, and the gain and the costs of a change
// to one of them, from simulated runs in pairs (lab/run). Thread rule: values and free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/report/document.h"
#include "lab/workload/workload.h"

namespace millrace::compare {

enum class AdviceKind : std::uint8_t {
  kChange,  // another scheduler is shown to serve better than the one in force
  kKeep,    // no other scheduler is shown to serve better
  kNone     // nothing can be said: the history is too small, or its simulations show nothing
};
[[nodiscard]] std::string_view AdviceName(AdviceKind kind);  // "change", "keep", "none"

// A metric by which the recommended scheduler is shown to be worse than the one in force.
struct Cost {
  const Metric* metric = nullptr;
  double before = 0, after = 0;  // means
  sim::Comparison comparison;
};

// The metric as simulated from the history under the scheduler in force, beside its real value.
struct ModelCheck {
  double live = 0, simulated = 0;
};

// The metric of the history itself, not redrawn, under the scheduler in force and the recommended one.
struct AsItWas {
  double before = 0, after = 0;
};

// The least and the greatest of some values.
struct Range {
  double low = 0, high = 0;
};

struct Advice {
  AdviceKind kind = AdviceKind::kNone;
  std::string why;  // a sentence
  const Metric* metric = nullptr;
  std::vector<std::uint32_t> best;           // schedulers that no other is shown to beat, in rising order
  std::optional<std::uint32_t> recommended;  // for kChange
  double before = 0, after = 0;              // means of the metric under the scheduler in force and the recommended one
  sim::Comparison gain;                      // of the recommended one
  std::optional<AsItWas> as_it_was;          // for kChange, if only the first runs are of the history itself
  std::uint32_t better_in = 0, runs = 0;     // pairs of runs in which the recommended one was better, and all pairs
  std::optional<Range> single;               // of the ratios of single pairs, if `gain` has a ratio
  std::vector<Cost> costs;
  std::optional<ModelCheck> model;
};

// Fewer jobs than this are too small a history for advice.
inline constexpr std::size_t kFewestJobs = 20;

// Returns the advice of a comparison whose baseline is the scheduler in force and whose headline is `metric` alone. Of
// several best schedulers it recommends the one with the fewest parts, of these the one with the best mean, and of
// equal ones the first. If `redrawn`, the first runs are of the history as it was, and the others of histories drawn
// from it.
[[nodiscard]] Advice AdviceOf(const Material& material, const Metric& metric, bool redrawn);

// Returns the number of jobs, counted from the largest, that together have half of the work of all jobs. If they are
// few, the history has a heavy tail, and workloads drawn from it depend on these jobs. Returns 0 if there is no work.
[[nodiscard]] std::size_t JobsOfHalfTheWork(const sim::Workload& workload);

// Returns the advice that the history has too few jobs.
[[nodiscard]] Advice TooLittle(std::size_t jobs);

}  // namespace millrace::compare
