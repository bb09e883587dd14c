// Waits for nodes that are being decommissioned. Thread rule: main.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {

// How far the draining of some nodes has got.
struct DrainProgress {
  std::uint64_t blocks_left = 0;   // that have too few replicas elsewhere
  std::uint64_t outputs_left = 0;  // of maps, that reduces may need and no other node has
  std::uint32_t tasks = 0;         // that still run there
  bool done = false;               // nothing is left of these
  bool nobody_else = false;        // no other node is in use that could take the blocks
  Status failure;                  // why it will not be done: somebody put a node back into use
};

// Pure. Blocks of a node that is lost meanwhile are not on it any more, so it is done.
[[nodiscard]] DrainProgress DrainProgressOf(const std::vector<job::Node>& all, const std::vector<NodeId>& nodes);

// Waits until the nodes have no tasks and no map outputs that are needed, and their blocks enough replicas elsewhere,
// and shows on standard error how far that has got. It does not wait where no other node is in use, and says so.
// kCancelled if somebody puts one back into use meanwhile.
[[nodiscard]] Status AwaitDrained(const Invocation& invocation, job::JobClient& client,
                                  const std::vector<NodeId>& nodes);

}  // namespace millrace::cli
