// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/conduct.h"

#include <utility>

namespace millrace::sched {

std::string Conduct::Judge(const OutsideTerms& terms, const OutsideCounts& counts, Micros now) {
  const std::uint64_t refused = counts.refused - std::exchange(refused_, counts.refused);
  const std::uint64_t missed = counts.missed - std::exchange(missed_, counts.missed);
  if (refused + missed > 0) faults_.push_back({now, refused, missed});
  while (!faults_.empty() && faults_.front().at <= now - kMinute) faults_.pop_front();
  std::uint64_t all_refused = 0, all_missed = 0;
  for (const Faults& of : faults_) all_refused += of.refused, all_missed += of.missed;
  if (all_refused + all_missed <= terms.tolerate) return {};
  return "within a minute " + std::to_string(all_refused) + " parts of its answers were refused and " +
         std::to_string(all_missed) + " limits missed; external.tolerate is " + std::to_string(terms.tolerate);
}

}  // namespace millrace::sched
