// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/end_guard.h"

#include <utility>

#include "base/thread.h"

namespace millrace::worker {

EndGuard::EndGuard(std::chrono::milliseconds limit, std::function<void()> late)
    : thread_([this, limit, late = std::move(late)] {
        NameThread("agent-end");
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, limit, [this] { return over_; })) late();
      }) {}

EndGuard::~EndGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace millrace::worker
