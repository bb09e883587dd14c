// Orphans: descendants of task processes that left their group (setsid) and outlived them. This process adopts them
// (PR_SET_CHILD_SUBREAPER), knows them by a mark in the environment that they inherited, and ends them. An orphan that
// scrubs its environment is not recognised. Thread rule: the control thread, but where it says otherwise.
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

// Makes them children of this process from now on.
[[nodiscard]] Status AdoptOrphans();

// A child of this process that is none of its own. The descriptor keeps its number from meaning another.
struct Orphan {
  pid_t pid = 0;
  Fd pidfd;
};

// Reaps the children of this process that have ended, but for `ours`, and returns those that go on.
[[nodiscard]] std::vector<Orphan> ReapOrphans(const std::set<pid_t>& ours);

// Kills those of them that carry the mark, and returns how many: these, and children that they leave to this process,
// are found by a later ReapOrphans. It reads the memory of processes, for which it may have to wait as long as they
// like. Thread rule: any thread.
std::size_t KillMarked(const std::vector<Orphan>& orphans, const std::string& mark);

}  // namespace millrace::worker
