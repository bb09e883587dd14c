// Writes the answers for `millrace scheduler show` (the view of the policy in force, with what the master adds), and
// for `millrace job status` and `job list` (why jobs wait). Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/control/control.h"

namespace millrace::master {

void WriteSchedulerView(const Control& control, wire::SchedulerView::Builder out);
// Writes why these jobs wait, or why all waiting jobs do if none is named.
void WriteWaits(const Control& control, capnp::List<std::uint32_t>::Reader jobs,
                wire::Master::ExplainWaitsResults::Builder out);

}  // namespace millrace::master
