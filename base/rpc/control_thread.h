// ControlThread: a thread with a KJ event loop, for processes (or libraries) whose callers live elsewhere. KJ objects
// never leave it; callers hand in functions.
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
  ControlThread();   // returns when the loop turns
  ~ControlThread();  // cancels what is under way, joins

  // Runs f on the loop and waits for the promise that it returns; from any thread but the loop's. What f or the promise
  // throws comes back as a Status. After Stop, or when Stop cancels it: kCancelled.
  Status Run(const std::function<kj::Promise<void>(kj::AsyncIoContext&)>& f);
  // Runs f on the loop soon and waits for nothing; after Stop it is dropped. Order of calls from one thread is kept.
  // From any thread. An f that throws is a bug and aborts.
  void Post(std::function<void(kj::AsyncIoContext&)> f);
  // Cancels what is under way and joins; from any thread but the loop's. Again does nothing.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The way from other threads into a loop that somebody else runs (the master's and the worker's main loop): make it on
// the loop's thread, Post from any. Functions run on the loop in the order posted. One that throws is a bug and aborts.
class Mailbox {
 public:
  Mailbox();   // on the loop's thread
  ~Mailbox();  // on the loop's thread, not from a posted function; what was posted and has not run is dropped
  void Post(std::function<void()> f);  // any thread, at any time that the Mailbox exists; never blocks

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
