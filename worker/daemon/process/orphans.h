// SPDX-License-Identifier: Apache-2.0
// Orphans are descendants of task processes that left their process group (setsid) and outlived the task. This process
// adopts orphans (PR_SET_CHILD_SUBREAPER), recognises them by a mark in the environment that they inherited, and ends
// them. An orphan that scrubs its environment is not recognised. Thread rule: the control thread, unless a function
// says otherwise.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::worker {

inline constexpr const char* kMarkVariable = "MILLRACE_TASK_PROCESS";

// Makes orphans children of this process from now on.
[[nodiscard]] Status AdoptOrphans();

// A child that this process did not start. The descriptor distinguishes it from a later process with the same number.
struct Orphan {
  pid_t pid = 0;
  Fd pidfd;
};

// Reaps the children of this process that have ended, except `ours`. Returns the other children that still run, among
// them what was left to this process by those that it reaped.
[[nodiscard]] std::vector<Orphan> ReapOrphans(const std::set<pid_t>& ours);

// Kills the orphans that carry the mark. Returns how many call for another look, since they may leave children to this
// process: those that carry it, and those of which it is unclear, because they have just ended or are about to run
// another program. A later ReapOrphans reaps them, and finds the children. KillMarked reads the memory of processes,
// and these may make it wait as long as they like. Thread rule: any thread.
std::size_t KillMarked(const std::vector<Orphan>& orphans, const std::string& mark);

}  // namespace millrace::worker
