// SPDX-License-Identifier: Apache-2.0
// `millrace top` shows a cluster while it works: jobs and why they wait, pools, nodes, and the tasks of a job. Thread
// rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::top {

[[nodiscard]] int TopCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::top
