// SPDX-License-Identifier: Apache-2.0
// Sources divide the difference in mean turnaround between a scheduler and the baseline among the classes of jobs and
// the phases of a job, on average over the pairs of runs. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/run/run_record.h"

namespace millrace::compare {

struct GroupSource {
  std::string name;  // of the class
  double jobs = 0;   // in a run of the baseline, on average
  // Seconds of the mean turnaround of all jobs. The differences of all groups add up to the whole difference, as long
  // as all jobs end.
  double difference = 0;
};

struct Sources {
  std::vector<GroupSource> groups;                     // by name
  std::vector<std::pair<std::string, double>> phases;  // seconds a job; empty if not known
};

[[nodiscard]] Sources SourcesOf(std::uint32_t scheduler, const Design& design,
                                const std::vector<const RunRecord*>& counting);

}  // namespace millrace::compare
