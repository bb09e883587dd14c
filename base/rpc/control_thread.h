// SPDX-License-Identifier: Apache-2.0
// ControlThread: a thread with a KJ event loop, for processes and libraries whose callers run on other threads. KJ
// objects never leave it: callers hand in functions.
#pragma once

#include <kj/async-io.h>
#include <kj/async.h>
#include <kj/function.h>

#include <functional>
#include <memory>

#include "base/status.h"

namespace millrace::rpc {

class ControlThread {
 public:
  ControlThread();   // returns once the loop runs
  ~ControlThread();  // Stop

  // Runs `f` on the loop and waits for the promise that it returns. Returns an exception of `f` or of the promise as a
  // Status, and kCancelled after Stop or if Stop cancels the promise. Any thread but the loop's.
  Status Run(const std::function<kj::Promise<void>(kj::AsyncIoContext&)>& f);
  // Runs `f` on the loop soon and waits for nothing; after Stop, `f` is dropped. Functions posted by one thread run in
  // the order of its calls. Requires: `f` does not throw; the process aborts if it does. Any thread.
  void Post(std::function<void(kj::AsyncIoContext&)> f);
  // Cancels all running promises and joins the thread. A second call does nothing. Any thread but the loop's.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Mailbox passes functions from other threads to a loop that already runs: the main loop of the master or of the
// worker. It is made on the loop's thread, and any thread may Post. The functions run on the loop in the order in which
// they were posted. Requires: they do not throw; the process aborts if one does.
class Mailbox {
 public:
  Mailbox();   // on the loop's thread
  ~Mailbox();  // on the loop's thread, not from a posted function; drops the functions that have not run
  void Post(std::function<void()> f);  // any thread, while the Mailbox exists; never blocks

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
