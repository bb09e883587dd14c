// SPDX-License-Identifier: Apache-2.0
// Views of jobs for clients and workers, made from the state of the tracker and the engine. Pure functions of const
// state. Thread rule: control thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/protocol/job_values.h"
#include "base/status.h"
#include "master/cluster/node_table.h"
#include "master/jobs/job_record.h"
#include "master/jobs/job_table.h"
#include "master/jobs/journal.h"
#include "schedulers/core/engine.h"

namespace millrace::master {

struct JobView {
  const JobRecord* record = nullptr;  // valid until the next call that changes the tracker
  JobState state = JobState::kWaiting;
  Phase maps, reduces;
  double copy_fraction = 0;
  JobFigures figures;
  std::vector<LeftOutRecord> left_out_records;  // the first kMostLeftOut
};

// Returns the present view of the job. Requires: the engine knows the job if it lives and
// does not wait (JobRecord::waits).
[[nodiscard]] JobView ViewOf(const TrackedJob& job, const sched::Engine& engine);

// Returns the view in the form that clients get.
[[nodiscard]] JobStatus StatusOf(const JobView& view);

// Sets the figures that change while the job runs: the engine's counts and the bytes that tasks reported.
void SetFigures(const TrackedJob& job, const sched::Engine& engine, JobFigures* figures);

// Returns the first records that maps of the job left out; none once the engine has forgotten the job.
[[nodiscard]] std::vector<LeftOutRecord> FirstLeftOutRecords(const TrackedJob& job, const sched::ClusterState& cluster);

// Returns a line for the log about how a job ended: its number, name and owner, the outcome with its reason, the times
// for which it waited and ran, and the resources that it used. Requires: the job has ended.
[[nodiscard]] std::string EndLine(const JobRecord& record);

// Returns the sums of the counters over the tasks that have succeeded.
[[nodiscard]] Counters CountersOf(const TrackedJob& job);

// Returns the attempts of the job in the order of their launches. If the job had ended before the master started, they
// come from the journal.
[[nodiscard]] Result<std::vector<AttemptRecord>> AttemptsOf(const TrackedJob& job, const Journal& journal);

// Returns the records that this attempt of a map has to leave out, in order.
[[nodiscard]] std::vector<sched::RecordPlace> LeftOutBy(const AttemptId& attempt, const sched::ClusterState& cluster);

// Returns the expected share, 0 to 1, of a map output on this node that goes to reduces on other nodes. Reduces are
// assumed to be spread over the nodes in proportion to their slots.
[[nodiscard]] double CrossingShare(NodeId node, const sched::ClusterState& cluster);

// Returns the number of attempts of maps, and that of reduces, that run on the node.
[[nodiscard]] std::pair<std::uint32_t, std::uint32_t> RunningOn(NodeId node, const sched::Engine& engine);

}  // namespace millrace::master
