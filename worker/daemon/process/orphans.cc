// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/orphans.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace millrace::worker {
namespace {

// Returns the children of all threads, since an orphan goes to any of them.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

enum class Belongs { kYes, kNo, kUnclear };

// Returns whether the process was started with the setting. That is unclear while there is nothing of it to read: it
// has ended, or is just about to run another program.
Belongs Carries(pid_t process, std::string_view setting) {
  const std::string about = "/proc/" + std::to_string(process);
  // It may have begun to run a program after its environment was looked at, and before its words were.
  for (int looks = 0; looks < 2; ++looks) {
    std::ifstream file(about + "/environ", std::ios::binary);
    bool reads = false;
    for (std::string variable; std::getline(file, variable, '\0'); reads = true) {
      if (variable == setting) return Belongs::kYes;
    }
    if (reads) return Belongs::kNo;
    if (std::ifstream(about + "/cmdline", std::ios::binary).peek() == EOF) return Belongs::kUnclear;
  }
  return Belongs::kNo;  // it has words, and an environment without any variable
}

}  // namespace

Status AdoptOrphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return Status::Ok();
  return FromErrno(errno, "cannot adopt what task processes leave behind");
}

std::vector<Orphan> ReapOrphans(const std::set<pid_t>& ours) {
  while (true) {
    std::vector<Orphan> orphans;
    bool reaped = false;
    for (const pid_t child : Children()) {
      if (ours.contains(child)) continue;
      if (waitpid(child, nullptr, WNOHANG) == child) {
        reaped = true;
      } else {
        orphans.push_back({child, Fd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)))});
      }
    }
    // One that ended after the children were listed has left its own children to this process meanwhile.
    if (!reaped) return orphans;
  }
}

std::size_t KillMarked(const std::vector<Orphan>& orphans, const std::string& mark) {
  const std::string setting = std::string(kMarkVariable) + "=" + mark;
  std::size_t again = 0;
  for (const Orphan& orphan : orphans) {
    const Belongs belongs = Carries(orphan.pid, setting);
    if (belongs == Belongs::kNo) continue;
    ++again;
    if (belongs == Belongs::kYes) (void)syscall(SYS_pidfd_send_signal, orphan.pidfd.get(), SIGKILL, nullptr, 0);
  }
  return again;
}

}  // namespace millrace::worker
