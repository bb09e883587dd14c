// Background does what may wait for a disk, so that the control thread never waits for one.
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
#include "base/thread_name.h"

namespace millrace::rpc {

class Background {
 public:
  virtual ~Background() = default;
  // Does `work`, then `then`. Works are done one after the other, in order of the calls, and so are their `then`s.
  virtual void Run(std::function<void()> work, std::function<void()> then) = 0;
};

// Does works on one thread. Its destructor finishes the work at hand, drops the rest, and joins.
class ThreadBackground final : public Background {
 public:
  // `name`: the thread's.
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

// Does works in the control thread itself, in a later turn of its loop: for driven time.
class InlineBackground final : public Background {
 public:
  ~InlineBackground() noexcept override = default;
  void Run(std::function<void()> work, std::function<void()> then) override;

 private:
  TaskGroup tasks_;
};

}  // namespace millrace::rpc
