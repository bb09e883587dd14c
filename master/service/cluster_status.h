// Writes the summary of the cluster for clients. Thread rule: the control thread.
#pragma once

#include "base/protocol/master.capnp.h"
#include "master/control/control.h"

namespace millrace::master {

void WriteClusterStatus(Control& control, wire::ClusterStatus::Builder out);

}  // namespace millrace::master
