// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/background.h"

#include <utility>

#include "base/check.h"

namespace millrace::rpc {

ThreadBackground::ThreadBackground(Mailbox& control, ThreadName name)
    : control_(control), thread_([this, name] { Loop(name); }) {}

ThreadBackground::~ThreadBackground() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ThreadBackground::Run(std::function<void()> work, std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    items_.push_back({std::move(work), std::move(then)});
  }
  wake_.notify_one();
}

void ThreadBackground::Loop(ThreadName name) {
  NameThread(name);
  for (;;) {
    QueuedWork item;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !items_.empty(); });
      if (stopping_) return;
      item = std::move(items_.front());
      items_.pop_front();
    }
    item.work();
    control_.Post(std::move(item.then));
  }
}

}  // namespace millrace::rpc
