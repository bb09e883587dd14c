// SPDX-License-Identifier: Apache-2.0
// Intervals: how far predictions have been off, and the intervals that follow for the next prediction.
//
// They are conformal intervals (Vovk et al.; Lei et al., "Distribution-free predictive inference", JASA 2018) over the
// nearest earlier predictions, at a level that adapts (Gibbs and Candes, "Adaptive conformal inference under
// distribution shift", NeurIPS 2021): whatever the errors are like, in the long run as many outcomes lie in the
// intervals as their level says.
//
// The rule, as code, for a prediction that something happens in `predicted` from now:
//
//   error of a record = log((actual + kGrain) / (predicted + kGrain))
//   near = the kNear records of the same kind, of the last kKept, that are nearest:
//       distance = |log((predicted + kGrain) / (its predicted + kGrain))|, + 0.7 if the program is another,
//                  + 1 if one of them is the first of its kind about its job and the other is not,
//                  + 5 if the scheduler is another
//   if near has fewer than kLeast records: there is no interval
//   interval at `level` = predicted moved by the quantiles miss / 2 and 1 - miss / 2 of the errors of `near`, and what
//       the interval at the level below has beyond that
//   when an outcome is known, for each level at which an interval was stated:
//       miss += kStep * ((1 - level) - (0 if the outcome lay within, else 1))        miss begins at 1 - level
//
// A prediction is of a kind (Foretold). When the scheduler was changed before the outcome (`overtaken`), the error says
// nothing of either scheduler: it is no record and moves no level, but the statement counts as held or not. Thread
// rule: one thread; a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/time.h"

namespace millrace::sched {

// What is predicted, and when: the start and the end of a job that waits, and the end of a job that has started.
enum class Foretold : std::uint8_t { kStart, kEndOfWaiting, kEndOfRunning };
inline constexpr std::array<Foretold, 3> kForetold = {Foretold::kStart, Foretold::kEndOfWaiting,
                                                      Foretold::kEndOfRunning};

// The levels of intervals, in percent.
inline constexpr std::array<int, 3> kLevels = {50, 80, 90};
// The index in kLevels of the level that people are shown.
inline constexpr std::size_t kShownLevel = 2;

struct Interval {
  Micros lo = 0, hi = 0;  // from now; 0 <= lo <= hi
  int level = 0;          // of kLevels
  bool operator==(const Interval&) const = default;
};

// The intervals around one prediction.
struct Spread {
  // By level, each within the next; empty if there are too few records.
  std::vector<Interval> intervals;
  Micros likely = 0;            // from now: the prediction moved by the median of the errors, within all intervals; the
                                // prediction itself if there are too few records
  std::uint32_t records = 0;    // that the intervals follow from, or that there are if they are too few
  std::uint32_t elsewhere = 0;  // of these: predictions under another scheduler
  bool operator==(const Spread&) const = default;
};

// How often the statements of a kind have held, of the last kJudged that were made at kLevels[kShownLevel].
struct OwnRecord {
  std::uint32_t stated = 0, held = 0;
  bool operator==(const OwnRecord&) const = default;
};

// A prediction whose outcome is known.
struct ForetoldRecord {
  Foretold what = Foretold::kStart;
  Micros predicted = 0, actual = 0;          // from the time of the prediction; at least 0
  std::uint64_t program = 0, scheduler = 0;  // hashes of what they were (HashOf)
  bool first = false;                        // the first of its kind about its job: mostly made when the job came
  bool overtaken = false;
  std::array<std::optional<bool>, kLevels.size()> held = {};  // by level; nothing: no interval was stated
  bool operator==(const ForetoldRecord&) const = default;
};

// Returns a number that differs between different texts, but for chance; the same on every machine.
[[nodiscard]] std::uint64_t HashOf(std::string_view text);

class Intervals {
 public:
  static constexpr Micros kGrain = kSecond;
  static constexpr std::size_t kKept = 800, kNear = 100, kLeast = 20, kJudged = 200;
  static constexpr double kStep = 0.02;

  // Returns the intervals around a prediction; `asked` is its record, as far as it is known.
  [[nodiscard]] Spread Around(const ForetoldRecord& asked) const;
  [[nodiscard]] OwnRecord Own(Foretold what) const;
  void Add(const ForetoldRecord& record);

  // A record with its place, as text, for a store: at most kKept places a kind, so that the store is bounded. Add fills
  // the places in turn, and LastStored returns those that it filled last, `count` or as many as there are.
  struct Stored {
    std::string key, value;
  };
  [[nodiscard]] std::vector<Stored> LastStored(Foretold what, std::size_t count) const;
  // Puts back what LastStored returned, in any order. Returns false, and changes nothing, if it is not that. Requires:
  // Restored is called when all are back, and before anything else.
  [[nodiscard]] bool Restore(std::string_view key, std::string_view value);
  void Restored();

 private:
  struct Kept {
    std::uint64_t number = 0;  // of the record within its kind, from 1
    ForetoldRecord record;
    std::array<double, kLevels.size()> miss = {};  // after the record
  };
  struct Kind {
    std::deque<Kept> kept;  // the oldest first
    std::array<double, kLevels.size()> miss = {};
    std::uint64_t added = 0;
    Kind();
  };
  [[nodiscard]] static Stored StoredOf(const Kept& kept);
  static constexpr double kLeastMiss = 0.002, kMostMiss = 0.9;

  [[nodiscard]] const Kind& Of(Foretold what) const { return kinds_[static_cast<std::size_t>(what)]; }
  [[nodiscard]] Kind& Of(Foretold what) { return kinds_[static_cast<std::size_t>(what)]; }

  std::array<Kind, kForetold.size()> kinds_;
};

}  // namespace millrace::sched
