// Background takes the agent's disk calls, so that the control thread never waits for a disk.
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
#include "worker/daemon/agent/task_group.h"

namespace millrace::worker {

class Background {
 public:
  virtual ~Background() = default;
  // Does `work`, then `then`. Works are done one after the other, in order of the calls, and so are their `then`s.
  virtual void Run(std::function<void()> work, std::function<void()> then) = 0;
};

// Does works on one thread. Its destructor finishes the work at hand, drops the rest, and joins.
class ThreadBackground final : public Background {
 public:
  explicit ThreadBackground(rpc::Mailbox& control);
  ~ThreadBackground() override;
  void Run(std::function<void()> work, std::function<void()> then) override;

 private:
  struct Item {
    std::function<void()> work, then;
  };
  void Loop();

  rpc::Mailbox& control_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> items_;
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

}  // namespace millrace::worker
