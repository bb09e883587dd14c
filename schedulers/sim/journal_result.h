// ResultOfJournal: what a simulation reports, of a run that really happened. The master's journal goes through the
// engine again, which decides nothing, and through the recorder of the simulator (metrics/recorder.h): so a live run
// and a simulated one have the same rows, computed by the same code.
//
// What a journal does not say:
// - When a map's input was there. A live map computes while it reads, so `read` is its launch.
// - How much each reduce copied of a map's output. It is taken to be the reduce's weight in the workload over all
//   weights of the job. All of it counts when the reduce has copied, whatever failed attempts copied before.
// - Wall time spent on deciding: `decision_seconds` is 0.
// A restart of the master does not matter: what it caused is in the lines after it.
// Thread rule: free functions, any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/status.h"
#include "schedulers/events/events.h"
#include "schedulers/settings/settings.h"
#include "schedulers/sim/metrics/metrics.h"
#include "schedulers/sim/workload/workload.h"

namespace millrace::sim {

struct JournalView {
  // The index in the workload of each job that counts; other jobs are left out. Empty: a job's id is its index.
  std::map<JobId, std::uint32_t> jobs = {};
  // The node of the rows that each node of the journal is; other nodes are left out. Empty: as the journal has it.
  std::map<NodeId, NodeId> nodes = {};
  // The time in the journal at which the run begins, which is 0 in the rows. What was before, happened at 0.
  Micros begin = 0;
  std::string scheduler = {};  // in force until the journal sets one (SchedulerSet)
  Micros sample_interval = 10 * kSecond;
  bool task_rows = true;
};

// Returns the rows of the run, up to the end of the last job or of the journal. kInvalid, with file and line, for a
// line that is no event, for a job that the workload does not have, and if no such scheduler exists.
[[nodiscard]] Result<SimResult> ResultOfJournal(std::string_view journal, const std::string& file_name,
                                                const Workload& workload, const sched::Settings& settings,
                                                const JournalView& view);

// What else a simulation of the same run has to know.
struct JournalFacts {
  // A job as it was submitted.
  struct Job {
    std::string program, input_type;      // keys of the history
    std::vector<sched::MapInput> inputs;  // what each map read, and on which nodes that lay
  };
  struct Node {
    double cores = 0;     // of its machine; 0: not told
    std::string machine;  // as NodeJoined has it
  };
  std::vector<Job> jobs;    // by index in the workload; one that never was submitted is empty
  std::vector<Node> nodes;  // by id, as far as they are known
  // How fast maps read their input from other nodes.
  std::vector<sched::BandwidthMeasured> reads;
};

// Fails as ResultOfJournal does.
[[nodiscard]] Result<JournalFacts> FactsOfJournal(std::string_view journal, const std::string& file_name,
                                                  const Workload& workload, const JournalView& view);

}  // namespace millrace::sim
