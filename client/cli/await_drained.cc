#include "client/cli/await_drained.h"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/console/progress.h"
#include "base/text.h"

namespace millrace::cli {

DrainProgress DrainProgressOf(const std::vector<job::Node>& all, const std::vector<NodeId>& nodes) {
  DrainProgress progress;
  progress.done = true;
  progress.nobody_else = std::ranges::none_of(all, [](const job::Node& node) { return node.alive && !node.Drains(); });
  for (const NodeId number : nodes) {
    const auto node = std::ranges::find(all, number, &job::Node::node);
    if (node == all.end() || !node->alive) continue;
    if (!node->draining) {
      progress.failure = Cancelled("node " + std::to_string(number.value) + " was put back into use");
      return progress;
    }
    progress.blocks_left += node->blocks_left;
    progress.outputs_left += node->outputs_left;
    progress.tasks += node->maps_running + node->reduces_running;
    if (!node->drained) progress.done = false;
  }
  if (progress.outputs_left + progress.tasks > 0) progress.done = false;
  return progress;
}

Status AwaitDrained(const Invocation& invocation, job::JobClient& client, const std::vector<NodeId>& nodes) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSayEvery = std::chrono::seconds(10);
  constexpr int kAskEveryMs = 500;
  const bool terminal = invocation.console.err_is_terminal;
  console::StatusLine line(invocation.console);
  Clock::time_point said = Clock::now() - kSayEvery;
  while (true) {
    MILLRACE_ASSIGN(const std::vector<job::Node> all, client.Nodes());
    const DrainProgress progress = DrainProgressOf(all, nodes);
    if (progress.done || !progress.failure.ok()) {
      line.Clear();
      return progress.failure;
    }
    if (progress.nobody_else) {
      line.Clear();
      console::SayLine(invocation.console, "decommission: no other node is in use that could take the blocks");
      return Status::Ok();
    }
    const std::string text = "decommission: " + std::to_string(progress.blocks_left) + " blocks and " +
                             std::to_string(progress.outputs_left) + " map outputs to copy, " +
                             std::to_string(progress.tasks) + " tasks to end; Ctrl-C leaves it to the master";
    if (terminal) {
      line.Show(text);
    } else if (Clock::now() - said >= kSayEvery) {
      console::SayLine(invocation.console, text);
      said = Clock::now();
    }
    ::poll(nullptr, 0, kAskEveryMs);
  }
}

}  // namespace millrace::cli
