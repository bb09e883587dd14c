// ExportWorkload: a workload file of what a journal says has happened, so that it can be simulated under other
// schedulers: the nodes with their slots and places, and each job with the time of its submission, its user and pool,
// the places of its blocks, and what its tasks took.
//
// The file's nodes are those that took tasks when its first job was submitted or later, and they are there all the
// time: nodes that had left before, or were being decommissioned all the while, are not.
//
// A task's time is the mean of the job's attempts of its kind that succeeded, of a reduce from when it began to
// compute; a kind of which none has succeeded takes that of all jobs. What they waited for a core is not in it, nor the
// start of their processes: the file has both apart, as the cores of the nodes, how many of them a task keeps busy
// (task_demand.h), and the mean start of a process. A journal of workers that did not tell has none of these, and slots
// cost nothing in a simulation of it. Outputs of maps are the job's mean ratio. What
// reduces wrote no journal says. Jobs are known by hashes of their programs, which serve for the history of programs;
// to run one live, put the program's path there. Thread rule: free functions, any thread.
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
  std::map<JobId, std::uint32_t> jobs;  // which job of the file each one of the journal is
  std::map<NodeId, NodeId> nodes;       // and which node
  Micros begin = 0;                     // time 0 of the file, by the journal's clock: the first submission
  double waited = 0;                // us for which attempts of its jobs that succeeded waited for cores; 0: none told
  std::string scheduler, settings;  // that were in force at the end (SchedulerSet); empty if the journal names none
};

// Returns the file, with the jobs that were submitted at `since` (by the journal's clock) or later. kInvalid, with file
// and line, for a line that is no event; kNotFound if there are no such jobs, or none of its nodes took tasks then.
[[nodiscard]] Result<ExportedWorkload> ExportWorkload(std::string_view journal, const std::string& file_name,
                                                      Micros since);

}  // namespace millrace::sim
