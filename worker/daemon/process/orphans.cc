#include "worker/daemon/process/orphans.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"

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

bool Carries(pid_t process, std::string_view setting) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable == setting) return true;
  }
  return false;
}

}  // namespace

Status AdoptOrphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return Status::Ok();
  return FromErrno(errno, "cannot adopt what task processes leave behind");
}

std::size_t EndOrphans(const std::string& mark, const std::set<pid_t>& ours) {
  const std::string setting = std::string(kMarkVariable) + "=" + mark;
  std::size_t killed = 0;
  for (const pid_t child : Children()) {
    if (ours.contains(child)) continue;
    if (waitpid(child, nullptr, WNOHANG) == child) continue;
    if (Carries(child, setting) && kill(child, SIGKILL) == 0) ++killed;
  }
  return killed;
}

}  // namespace millrace::worker
