// SPDX-License-Identifier: Apache-2.0
#include "base/daemon/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/thread.h"

namespace millrace::daemon {

std::uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::size_t ConnectionsFor(std::uint64_t descriptors) {
  constexpr std::uint64_t kReserve = 320, kLeast = 16, kMost = 65'536;
  const std::uint64_t reserve = std::max(kReserve, descriptors / 4);
  const std::uint64_t left = descriptors > reserve ? descriptors - reserve : 0;
  return static_cast<std::size_t>(std::clamp(left, kLeast, kMost));
}

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
