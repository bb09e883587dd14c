// SPDX-License-Identifier: Apache-2.0
// ExportWorkload: writes a workload file from a journal, so that its jobs can be simulated under other schedulers. The
// file has the nodes with their slots and places, and each job with the time of its submission, its user and pool, the
// places of its blocks, and the times of its tasks.
//
// The file's nodes are those that took tasks when its first job was submitted or later, and they are present for the
// whole run. Nodes that had left before, or were being decommissioned throughout, are left out.
//
// A task's time is the mean over the job's attempts of its kind that succeeded; that of a reduce counts from the start
// of its computation. If no attempt of a kind succeeded, its time is the mean over all jobs. These times exclude the
// waits for a core and the start of processes. The file describes both separately, by the cores of the nodes, the
// number of cores that a task keeps busy (task_demand.h), and the mean CPU time of a process's start. If the workers
// did not report their use of cores, the file has none of these figures, and slots cost nothing in a simulation of the
// file. Outputs of maps have the job's mean ratio. Journals do not contain the outputs of reduces. The program of a job
// is a hash, which serves for the history of programs; to run a job live, replace the hash by the program's path.
// Thread rule: free functions, any thread.
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
  std::map<JobId, std::uint32_t> jobs;  // by job of the journal: its job in the file
  std::map<NodeId, NodeId> nodes;       // by node of the journal: its node in the file
  Micros begin = 0;                     // time 0 of the file, by the journal's clock: the first submission
  double waited = 0;                    // us for which the jobs' successful attempts waited for cores; 0: not reported
  std::string scheduler, settings;      // in force at the end (SchedulerSet); empty if the journal names none
};

// Returns the file, with the jobs that were submitted at `since` (by the journal's clock) or later. Returns kInvalid,
// with file and line, for a line that is not an event. Returns kNotFound if there are no such jobs, or if no node took
// tasks from the first of them on.
[[nodiscard]] Result<ExportedWorkload> ExportWorkload(std::string_view journal, const std::string& file_name,
                                                      Micros since);

}  // namespace millrace::sim
