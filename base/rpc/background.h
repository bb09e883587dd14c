// SPDX-License-Identifier: Apache-2.0
// Background runs work that may wait for a disk, so that the control thread never does.
// Thread rule: Run is called from the control thread; `work` runs elsewhere, `then` on the control thread, never inside
// Run.
#pragma once

#include <kj/async.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/rpc/control_thread.h"
#include "base/rpc/task_group.h"
#include "base/thread.h"

namespace millrace::rpc {

class Background {
 public:
  virtual ~Background() = default;
  // Runs `work`, then `then`. Pieces of work run one after the other, in the order of the calls, and so do their
  // `then`s.
  virtual void Run(std::function<void()> work, std::function<void()> then) = 0;
};

// Runs work on one thread. Its destructor finishes the current piece, drops the rest, and joins the thread.
class ThreadBackground final : public Background {
 public:
  // `name` is the name of the thread.
  ThreadBackground(Mailbox& control, ThreadName name);
  ~ThreadBackground() override;
  void Run(std::function<void()> work, std::function<void()> then) override;

 private:
  struct QueuedWork {
    std::function<void()> work, then;
  };
  void Loop(ThreadName name);

  Mailbox& control_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<QueuedWork> items_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace::rpc
