// SPDX-License-Identifier: Apache-2.0
#include "client/cli/await_drained.h"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/console/progress.h"
#include "base/ids/counted.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

using job::GoState;
using Answer = job::MayGo::Answer;

std::string NodeName(const Answer& answer) { return "node " + std::to_string(answer.node.value); }

Status Lost(const Answer& answer) {
  std::string why = NodeName(answer) + " is lost: ";
  if (answer.lost_blocks == 0) {
    why += answer.lost_known ? "no block that it had is missing" : "no block is missing";
    return Unavailable(why + "; if its machine does not come back, `millrace node forget` takes it off the list");
  }
  why +=
      Counted(answer.lost_blocks, "block") +
      (answer.lost_known ? " that it had and no other node has"
                         : " of all files, which it may have, as the master has not seen it since the master's start");
  why += answer.lost_blocks == 1 ? " is missing" : " are missing";
  std::string files;
  for (const std::string& file : answer.lost_files) files += (files.empty() ? " (" : ", ") + Quote(file);
  return Unavailable(why + (files.empty() ? "" : files + ")") +
                     "; start its worker again; `millrace fs fsck` lists the files");
}

Status Doubted(const Answer& answer) {
  return Invalid(NodeName(answer) +
                 ": other nodes have all blocks of files, but its trash, or blocks that belong to no file, may be the "
                 "last copies of files that the database has lost: `millrace cluster status` says for how long that is "
                 "in doubt; wait until then, or use --force");
}

Status FailureOf(const Answer& answer) {
  switch (answer.state) {
    case GoState::kLost:
      return Lost(answer);
    case GoState::kInUse:
      return Cancelled(NodeName(answer) + " was put back into use");
    case GoState::kHeld:
      return Invalid(NodeName(answer) +
                     " has too many blocks that belong to no file: `millrace node list` says what to do about them "
                     "before it may go");
    default:
      return Status::Ok();
  }
}

}  // namespace

DrainProgress DrainProgressOf(const job::MayGo& answer, bool force) {
  DrainProgress progress;
  const auto doubted = [](const Answer& a) { return a.state == GoState::kDoubt && a.tasks == 0 && a.outputs == 0; };
  const auto settled = [&](const Answer& a) { return a.state == GoState::kYes || doubted(a); };
  if (std::ranges::all_of(answer.answers, settled)) {
    const auto first = std::ranges::find_if(answer.answers, doubted);
    progress.done = force || first == answer.answers.end();
    if (!progress.done) progress.failure = Doubted(*first);
    return progress;
  }
  std::uint64_t blocks = 0, damaged = 0, outputs = 0, tasks = 0;
  bool unknown = false;
  for (const Answer& node : answer.answers) {
    progress.failure = FailureOf(node);
    if (!progress.failure.ok()) return progress;
    unknown = unknown || node.state == GoState::kUnknown;
    blocks += node.blocks;
    damaged += node.damaged;
    outputs += node.outputs;
    tasks += node.tasks;
  }
  const std::string what = Counted(blocks, "block") + " and " + Counted(outputs, "map output");
  if (!unknown && answer.others + answer.away == 0 && blocks + outputs > 0) {
    progress.failure = Invalid("no other node is in use that could take " + what +
                               ", which would be lost; add a node, or take one back (`millrace node recommission`)");
    return progress;
  }
  progress.waiting = what + " to copy, " + Counted(tasks, "task") + " to end";
  if (damaged > 0) {
    progress.waiting += "; " + Counted(damaged, "block") +
                        " cannot be copied, since each replica is damaged (`millrace fs fsck` lists the files)";
  }
  if (unknown) progress.waiting = "the workers have not yet told the master which blocks they have";
  if (!unknown && answer.others == 0 && blocks + outputs > 0)
    progress.waiting += "; no other node is here to take them";
  return progress;
}

Status AwaitDrained(const Invocation& invocation, job::JobClient& client, const std::vector<NodeId>& nodes,
                    bool force) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSayEvery = std::chrono::seconds(10);
  constexpr int kAskEveryMs = 500;
  const bool terminal = invocation.console.err_is_terminal;
  console::StatusLine line(invocation.console);
  Clock::time_point said = Clock::now() - kSayEvery;
  while (true) {
    const Result<job::MayGo> answer = client.AskMayGo(nodes);
    const StatusCode code = answer.status().code();
    const bool unheard = code == StatusCode::kUnavailable || code == StatusCode::kTimeout || code == StatusCode::kBusy;
    DrainProgress progress;
    if (answer.ok()) {
      progress = DrainProgressOf(*answer, force);
    } else if (unheard) {
      progress.waiting = "the master cannot be reached: " + answer.status().message();
    } else {
      progress.failure = answer.status();
    }
    if (progress.done || !progress.failure.ok()) {
      line.Clear();
      return progress.failure;
    }
    const std::string text = "decommission: " + progress.waiting + "; Ctrl-C leaves it to the master";
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
