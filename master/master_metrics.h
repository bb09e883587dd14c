// SPDX-License-Identifier: Apache-2.0
// The metrics of a master, by name (docs/operate/metrics.md). Pure. Thread rule: the control thread.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/histogram.h"
#include "master/control/cluster_summary.h"
#include "master/jobs/job_tallies.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

struct MasterFigures {
  const ClusterSummary& summary;
  const JobTallies& tallies;
  const DecidingCost& cost;
  const Histogram& commits;     // in seconds
  Micros oldest_heartbeat = 0;  // the longest time since a live node was heard
  Micros processor_time = 0;    // of the process
};

// Returns the text of /metrics.
[[nodiscard]] std::string MasterMetrics(const MasterFigures& figures);

}  // namespace millrace::master
