// ExportWorkload: writes a workload file from a journal, so that its jobs can be simulated under other schedulers. The
// file has the nodes with their slots and places, and each job with the time of its submission, its user and pool, the
// places of its blocks, and the times of its tasks.
//
// The file's nodes are those that took tasks when its first job was submitted or later, and they are present all the
// time. Nodes that had left before, or were being decommissioned throughout, are left out.
//
// A task's time is the mean over the job's attempts of its kind that succeeded, for a reduce from the start of its
// computation; a kind without a success takes the mean of all jobs. This time excludes the waits for a core and the
// start of processes. The file has these apart: as the cores of the nodes, the number of cores that a task keeps busy
// (task_demand.h), and the mean start of a process. A journal from workers that did not report them has none of these,
// and slots cost nothing in a simulation of it. Outputs of maps have the job's mean ratio. Outputs of reduces are in no
// journal. Jobs are known by hashes of their programs, which serve for the history of programs; to run a job live, put
// the program's path there. Thread rule: free functions, any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/status.h"

namespace millrace::sim {

struct ExportedWorkload {
  std::string text;                     // of the file
  std::map<JobId, std::uint32_t> jobs;  // the job in the file of each job of the journal
  std::map<NodeId, NodeId> nodes;       // likewise the nodes
  Micros begin = 0;                     // time 0 of the file, by the journal's clock: the first submission
  double waited = 0;                    // us that successful attempts of its jobs waited for cores; 0: not reported
  std::string scheduler, settings;      // in force at the end (SchedulerSet); empty if the journal names none
};

// Returns the file, with the jobs that were submitted at `since` (by the journal's clock) or later. Returns kInvalid,
// with file and line, for a line that is not an event; kNotFound if there are no such jobs, or no node took tasks then.
[[nodiscard]] Result<ExportedWorkload> ExportWorkload(std::string_view journal, const std::string& file_name,
                                                      Micros since);

}  // namespace millrace::sim
