// What `millrace scheduler show` is told: the view of the policy in force, with what the master knows besides.
// Thread rule: the control thread.
#pragma once

#include "master/control.h"
#include "master/master.capnp.h"

namespace millrace::master {

void WriteSchedulerView(const Control& control, wire::SchedulerView::Builder out);

}  // namespace millrace::master
