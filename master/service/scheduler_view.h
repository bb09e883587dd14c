// Writes the answers for `millrace scheduler show` (the view of the policy in force, with the master's additions), and
// for `millrace job status` and `job list` (the reasons why jobs wait). Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/control/control.h"

namespace millrace::master {

void WriteSchedulerView(const Control& control, wire::SchedulerView::Builder out);
// Writes the reasons why these jobs wait; if `jobs` is empty, those of all waiting jobs.
void WriteWaits(const Control& control, capnp::List<std::uint32_t>::Reader jobs,
                wire::Master::ExplainWaitsResults::Builder out);

}  // namespace millrace::master
