// EndGuard: a worker that is told to stop ends, whatever its tasks, its disks and its peers do. Everything that its end
// waits for is bounded by itself where it can be; what cannot be (a thread that waits for a disk that hangs) ends with
// the process. Nothing is lost by that: what was acknowledged is on disk. Thread rule: any thread.
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
