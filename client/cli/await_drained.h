// Waits for nodes that are being decommissioned. Thread rule: main.
#pragma once

#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {

// How far the draining of some nodes has got.
struct DrainProgress {
  bool done = false;    // all of them may go
  std::string waiting;  // a line: what is waited for; empty if nothing is
  Status failure;       // why it will not be done
};

// Says what the master's answer means for who waits. With `force` a node may go whose trash may be needed (GoState
// kDoubt); without, that is a failure once all else is done. A node that is lost, was put back into use, or has blocks
// of which somebody must first say what is to become of them, is a failure; so are things to copy with nobody to copy
// them to, now or when lost nodes are back. Pure.
[[nodiscard]] DrainProgress DrainProgressOf(const job::MayGo& answer, bool force = false);

// Waits until the master says that all of these nodes may go, and shows on standard error how far that has got. It goes
// on while the master cannot be reached, or has just started. Returns the failures of DrainProgressOf.
[[nodiscard]] Status AwaitDrained(const Invocation& invocation, job::JobClient& client,
                                  const std::vector<NodeId>& nodes, bool force);

}  // namespace millrace::cli
