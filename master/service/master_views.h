// SPDX-License-Identifier: Apache-2.0
// Writes the answers to clients about themselves, the cluster and the scheduler, from the master's own types. Thread
// rule: the control thread.
#pragma once

#include <map>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/protocol/master.capnp.h"
#include "master/access/access_rules.h"
#include "master/access/caller.h"
#include "master/control/cluster_summary.h"
#include "master/control/master_clock.h"
#include "master/control/scheduler_choice.h"
#include "master/control/scheduler_file.h"
#include "master/jobs/job_tracker.h"
#include "master/service/flat_message.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::master {

// Writes a client's identity and rights, for `millrace whoami`.
void WriteCallerRights(const Caller& caller, const AccessRules& rules, wire::CallerRights::Builder out);

// Writes the summary of the cluster, for `millrace cluster status`.
void WriteClusterStatus(const ClusterSummary& summary, wire::ClusterStatus::Builder out);

// The inputs of the view of the scheduler.
struct SchedulerViewParts {
  const JobTracker& jobs;
  const MasterClock& clock;
  const SchedulerChoice& scheduler;
  const SchedulerFile& scheduler_file;
  const Meters& meters;
};
// Writes the view of the policy in force, with the master's additions, for `millrace scheduler show`.
void WriteSchedulerView(const SchedulerViewParts& master, wire::SchedulerView::Builder out);
// Writes a view of the policy, without the time and the cost. `now` is scheduler time.
void WritePolicy(const SchedulerViewParts& master, Micros now, sched::PolicyView view,
                 wire::SchedulerView::Builder out);
void WriteCost(const SchedulerViewParts& master, wire::SchedulerView::Cost::Builder out);
// Returns the waits in the view by job, each as a Changes.JobWaits.
[[nodiscard]] std::map<JobId, FlatMessage> FlatWaits(const sched::ClusterState& cluster, Micros now,
                                                     const sched::PolicyView& view);
// Writes the reasons why these jobs wait, for `millrace job status` and `job list`; if `jobs` is empty, those of all
// waiting jobs. `now` is scheduler time.
void WriteWaits(const JobTracker& tracker, Micros now, capnp::List<std::uint32_t>::Reader jobs,
                wire::Master::ExplainWaitsResults::Builder out);

}  // namespace millrace::master
