// SPDX-License-Identifier: Apache-2.0
// Waits for nodes that are being decommissioned. Thread rule: main.
#pragma once

#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {

// The progress of draining some nodes.
struct DrainProgress {
  bool done = false;    // all of the nodes may go
  std::string waiting;  // a line about what is awaited; empty if nothing is
  Status failure;       // the reason that the draining will not be done
};

// Returns the progress that the master's answer shows. With `force` a node may go although its trash may be needed
// (GoState kDoubt); without `force`, such a node is a failure once all else is done. It is also a failure if a node is
// lost, was put back into use, or has unknown blocks that a user must first decide about, or if there is something to
// copy but no node to copy it to, now or when lost nodes are back. Pure.
[[nodiscard]] DrainProgress DrainProgressOf(const job::MayGo& answer, bool force = false);

// Waits until the master answers that all of these nodes may go, and shows the progress on standard error. The wait
// continues while the master cannot be reached, or has just started. Returns the failures of DrainProgressOf.
[[nodiscard]] Status AwaitDrained(const Invocation& invocation, job::JobClient& client,
                                  const std::vector<NodeId>& nodes, bool force);

}  // namespace millrace::cli
