// SPDX-License-Identifier: Apache-2.0
// Tuning: which of the schedulers and settings that a search has found serve better than the scheduler in force, judged
// by runs that the search has not seen. Thread rule: values and free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/advise/advice.h"
#include "lab/advise/history.h"
#include "lab/report/document.h"
#include "lab/tune/search.h"

namespace millrace::tune {

// The history in two parts, each of which draws workloads. If a history is drawn from again (redraw.h) and is large
// enough, the search draws from its earlier jobs and the judgement from the later ones, as it will be with what is
// tuned today. Else both draw from all of it, by different seeds.
struct Parts {
  compare::DrawSimulation searched, judged;
  // The numbers of jobs in the two parts; 0: both have all.
  std::size_t earlier = 0, later = 0;
};
[[nodiscard]] Parts PartsOf(const compare::History& history);

// Returns at most `most` of the tries that a search has left: those of the front that are not the scheduler in force,
// as far apart as may be, in the order of the first goal.
[[nodiscard]] std::vector<std::size_t> Finalists(const Searched& searched, std::size_t most);

enum class TuningKind : std::uint8_t {
  kChange,  // one is shown to be better by a goal, and nothing says that it is worse by another
  kWeigh,   // those that are better by a goal are all worse by another, or may be
  kKeep,    // none is shown to be better by any goal
  kNone,    // nothing can be said
};
[[nodiscard]] std::string_view TuningName(TuningKind verdict);  // "change", "weigh", "keep", "none"

struct Tuning {
  TuningKind kind = TuningKind::kNone;
  std::string why;                      // a sentence
  std::optional<std::uint32_t> chosen;  // for kChange, the number of the scheduler in the material
};

// Judges the finalists. The baseline of the material is the scheduler in force, and its headlines are the goals, in
// order. Of those that are shown to be better by a goal, and by no goal have a whole interval on the worse side, the
// one is chosen that is better by the earliest goal, and of several of these the one with the best mean there.
// Requires: less is better by each goal.
[[nodiscard]] Tuning TuningOf(const compare::Material& material, const std::vector<const compare::Metric*>& goals);

}  // namespace millrace::tune
