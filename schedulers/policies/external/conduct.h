// SPDX-License-Identifier: Apache-2.0
// Conduct: judges by its faults whether a program may go on to order the jobs. Pure; the driver asks after each answer
// and each Decide. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "schedulers/core/outside.h"

namespace millrace::sched {

class Conduct {
 public:
  Conduct() = default;
  // Judges what comes after these counts.
  explicit Conduct(const OutsideCounts& before) : refused_(before.refused), missed_(before.missed) {}

  // Notes the counts at this time. Returns why the fallback has to take over: there were more refusals and missed
  // limits within the last minute than OutsideTerms::tolerate; empty if it need not.
  [[nodiscard]] std::string Judge(const OutsideTerms& terms, const OutsideCounts& counts, Micros now);

 private:
  struct Faults {
    Micros at = 0;
    std::uint64_t refused = 0, missed = 0;
  };
  std::deque<Faults> faults_;  // within the last minute
  std::uint64_t refused_ = 0, missed_ = 0;
};

}  // namespace millrace::sched
