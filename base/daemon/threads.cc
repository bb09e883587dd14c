#include "base/daemon/threads.h"

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/thread.h"

namespace millrace::daemon {

Status CheckThreads(std::size_t wanted) {
  std::latch end(1);
  std::vector<std::jthread> threads;
  Status refused;
  while (threads.size() < wanted && refused.ok()) {
    Result<std::jthread> started = StartThread([&end] { end.wait(); });
    if (started.ok()) {
      threads.push_back(*std::move(started));
    } else {
      refused = started.status();
    }
  }
  end.count_down();
  if (refused.ok()) return refused;
  return Busy("the system gives this user only " + std::to_string(threads.size()) + " more threads, and " +
              std::to_string(wanted) + " are needed; raise the limit of processes (ulimit -u, LimitNPROC=, TasksMax=)");
}

}  // namespace millrace::daemon
