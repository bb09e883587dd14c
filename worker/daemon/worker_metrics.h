// SPDX-License-Identifier: Apache-2.0
// The metrics of a worker, by name (docs/operate/metrics.md). Pure. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "dfs/data/block_store.h"

namespace millrace::worker {

struct WorkerFigures {
  std::string version;
  bool registered = false;
  std::int64_t map_slots = 0, reduce_slots = 0;
  std::uint64_t attempts = 0;  // that are here, from their order to their report
  dfs::BlockStore::Space space;
  std::uint64_t shuffle_bytes = 0;  // of map outputs that were sent to other workers
  Micros processor_time = 0;        // of the process, without tasks
};

// Returns the text of /metrics.
[[nodiscard]] std::string WorkerMetrics(const WorkerFigures& figures);

}  // namespace millrace::worker
