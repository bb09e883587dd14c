// SPDX-License-Identifier: Apache-2.0
// ResultOfJournal: the report of a simulation, for a live run. The master's journal is run again through the engine,
// which decides nothing, and through the recorder of the simulator (lab/measure/recorder.h). So a live run and a
// simulated one have the same rows, computed by the same code.
//
// A journal lacks:
// - The time at which a map had read its input. A live map computes while it reads, so `read` is its launch.
// - The share of a map's output that each reduce copied. It is assumed to be the reduce's weight in the workload over
//   the sum of the job's weights. All of it counts when the reduce has copied, whatever failed attempts copied before.
// - Wall time spent on deciding: `decision_seconds` is 0.
// A restart of the master does not matter, since its effects are in the lines after it.
// Thread rule: free functions, any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/status.h"
#include "lab/measure/metrics.h"
#include "lab/workload/workload.h"
#include "schedulers/events/events.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

struct JournalView {
  // By job of the journal: its index in the workload. Jobs that are not listed are left out. Empty: a job's id is its
  // index.
  std::map<JobId, std::uint32_t> jobs = {};
  // By node of the journal: its node in the rows. Nodes that are not listed are left out. Empty: as in the journal.
  std::map<NodeId, NodeId> nodes = {};
  // The time in the journal at which the run begins; it is time 0 in the rows. Earlier events count as events at 0.
  Micros begin = 0;
  std::string scheduler = {};  // in force until the journal sets one (SchedulerSet)
  Micros sample_interval = 10 * kSecond;
  bool task_rows = true;
};

// Returns the rows of the run, up to the end of the last job or of the journal. Returns kInvalid, with file and line,
// for a line that is not an event, for a job that the workload does not have, and if no such scheduler exists.
[[nodiscard]] Result<SimResult> ResultOfJournal(std::string_view journal, const std::string& file_name,
                                                const Workload& workload, const sched::Settings& settings,
                                                const JournalView& view);

// Further facts for a simulation of the same run.
struct JournalFacts {
  // A job, as submitted.
  struct Job {
    std::string program, input_type;      // keys of the history
    std::vector<sched::MapInput> inputs;  // by map: its input, and the nodes that held it
  };
  struct Node {
    double cores = 0;     // of its machine; 0: not reported
    std::string machine;  // as in NodeJoined
  };
  std::vector<Job> jobs;    // by index in the workload; empty for a job that was never submitted
  std::vector<Node> nodes;  // by id, as far as they are known
  // The throughput of maps that read their input from other nodes.
  std::vector<sched::BandwidthMeasured> reads;
};

// Fails as ResultOfJournal does.
[[nodiscard]] Result<JournalFacts> FactsOfJournal(std::string_view journal, const std::string& file_name,
                                                  const Workload& workload, const JournalView& view);

}  // namespace millrace::sim
