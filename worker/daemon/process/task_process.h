// SPDX-License-Identifier: Apache-2.0
// TaskProcess is one process of a job's executable on the event loop: its messages in both directions, and its end.
// Thread rule: the control thread.
#pragma once

#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/protocol/task.capnp.h"
#include "base/rpc/task_group.h"
#include "base/status.h"
#include "worker/daemon/process/spawn.h"
#include "worker/daemon/process/task_runner.h"
#include "worker/task/channel/channel.h"

namespace millrace::worker {

// The parts of the event loop that processes need.
struct ProcessLoop {
  kj::UnixEventPort& port;
  kj::LowLevelAsyncIoProvider& io;
  kj::Timer& timer;
};

class TaskProcess {
 public:
  // Requires: neither function destroys the TaskProcess that calls it.
  struct Events {
    std::function<void(task::wire::FromTask::Reader)> message;
    // Called once, when the process has ended, its messages have been delivered and SIGKILL was sent to its whole
    // group. `how` says how it ended: the cause given to Kill, or the text of DescribeExit.
    std::function<void(std::string how)> ended;
  };
  static Result<kj::Own<TaskProcess>> Start(const ProcessLoop& loop, const SpawnSpec& spec, Events events);
  TaskProcess(const ProcessLoop& loop, Spawned spawned, Events events);
  ~TaskProcess();  // reaps the process if it has ended; otherwise kills it and does not wait for its end

  // Kills the processes that still run and waits until all have ended, for at most `longest`.
  static void EndAll(const std::vector<TaskProcess*>& processes, std::chrono::milliseconds longest);

  void Send(OwnedMessage<task::wire::ToTask> message);
  // Sends SIGKILL to the group of the process. `ended` gets `cause`, unless the process had ended for another reason.
  void Kill(std::string cause);
  [[nodiscard]] pid_t minder() const { return pid_; }

 private:
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;
  // A task that sends more than this at once is read again only after the pause, so that the loop gets to other tasks.
  static constexpr std::size_t kMostBytesAtOnce = std::size_t{256} << 10;
  static constexpr kj::Duration kReadPause = 5 * kj::MILLISECONDS;
  kj::Promise<void> Read();
  bool Reap();  // returns true if the process has ended; does not wait
  Status Deliver(std::size_t bytes);
  void Exited();
  void Silent();  // nothing more comes from the process
  void EndIfOver();

  pid_t pid_;  // the minder's
  kj::Timer& timer_;
  Events events_;
  kj::AutoCloseFd pidfd_;
  kj::UnixEventPort::FdObserver exit_observer_;
  kj::Own<kj::AsyncIoStream> channel_;
  kj::Array<kj::byte> buffer_;
  task::FrameParser parser_{task::kMaxFromTaskBytes};
  std::size_t read_at_once_ = 0;  // since the loop last waited
  std::string cause_;             // why it was killed here
  std::optional<int> status_;     // from waitpid; set when the process is reaped
  bool silent_ = false;           // its end of the channel is closed, or useless
  kj::Promise<void> writes_;      // one after the other
  rpc::TaskGroup tasks_;          // last: they use the members above
};

}  // namespace millrace::worker
