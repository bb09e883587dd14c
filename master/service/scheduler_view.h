// Makes what `millrace scheduler show` is told: the view of the policy in force, with what the master knows besides;
// and what `millrace job status` and `job list` are told of why jobs wait.
// Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/control/control.h"

namespace millrace::master {

void WriteSchedulerView(const Control& control, wire::SchedulerView::Builder out);
// Writes why these jobs wait; why all do if none is named.
void WriteWaits(const Control& control, capnp::List<std::uint32_t>::Reader jobs,
                wire::Master::ExplainWaitsResults::Builder out);

}  // namespace millrace::master
