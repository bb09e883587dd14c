// SPDX-License-Identifier: Apache-2.0
// EndGuard makes sure that a worker that has to stop does end, whatever its tasks, its disks and its peers do. Each
// wait at the end of a worker is bounded where possible. A wait that cannot be bounded (that of a thread for a hanging
// disk) ends with the process; nothing is lost by that, since everything acknowledged is on disk. Thread rule: any
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace millrace::worker {

class EndGuard {
 public:
  // Calls `late` on a thread of its own, unless the guard is destroyed within `limit`. `late` ends the process.
  EndGuard(std::chrono::milliseconds limit, std::function<void()> late);
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;
  ~EndGuard();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace millrace::worker
