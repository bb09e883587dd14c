// Orphans: descendants of task processes that left their group (setsid) and outlived them. This process adopts them
// (PR_SET_CHILD_SUBREAPER), knows them by a mark in the environment that they inherited, and ends them. An orphan that
// scrubs its environment is not recognised. Thread rule: the control thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>

#include "base/status.h"

namespace millrace::worker {

inline constexpr const char* kMarkVariable = "MILLRACE_TASK_PROCESS";

// Makes them children of this process from now on.
[[nodiscard]] Status AdoptOrphans();

// Kills those children of this process that carry the mark, and reaps all that have ended, but for `ours`. Returns the
// number that it killed: these, and children that they leave to this process, are reaped or killed by a later call.
std::size_t EndOrphans(const std::string& mark, const std::set<pid_t>& ours);

}  // namespace millrace::worker
