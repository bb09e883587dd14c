// Makes what `millrace scheduler show` is told: the view of the policy in force, with what the master knows besides.
// Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/control/control.h"

namespace millrace::master {

void WriteSchedulerView(const Control& control, wire::SchedulerView::Builder out);

}  // namespace millrace::master
