// Orphans: descendants of task processes that left their group (setsid) and outlived them. This process adopts them
// (PR_SET_CHILD_SUBREAPER), knows them by a mark in the environment that they inherited, and ends them. One that scrubs
// its environment is not known. Thread rule: the control thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>

#include "base/status.h"

namespace millrace::worker {

inline constexpr const char* kMarkVariable = "MILLRACE_TASK_PROCESS";

// From now on they become our children.
[[nodiscard]] Status AdoptOrphans();

// Kills those of our children that carry the mark, and reaps what has ended of our children other than `ours`. Returns
// the number that it killed: they, and children that they leave to us, are reaped or killed by a later call.
std::size_t EndOrphans(const std::string& mark, const std::set<pid_t>& ours);

}  // namespace millrace::worker
