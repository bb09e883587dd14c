// TaskProcess: one process of a job's executable, on the loop: what it says, what it is told, and how it ended.
// Thread rule: the control thread.
#pragma once

#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <functional>
#include <optional>
#include <string>

#include "base/protocol/task.capnp.h"
#include "base/rpc/task_group.h"
#include "base/status.h"
#include "worker/daemon/process/owned_message.h"
#include "worker/daemon/process/spawn.h"
#include "worker/task/channel/channel.h"

namespace millrace::worker {

// What processes need of the event loop.
struct ProcessLoop {
  kj::UnixEventPort& port;
  kj::LowLevelAsyncIoProvider& io;
  kj::Timer& timer;
};

class TaskProcess {
 public:
  // Requires: neither destroys the TaskProcess that calls it.
  struct Events {
    std::function<void(task::wire::FromTask::Reader)> message;
    // Called once, when the process has ended and its whole group was sent SIGKILL; what it said before was delivered.
    // `how` says how it ended: the cause that Kill was given, or what DescribeExit says.
    std::function<void(std::string how)> ended;
  };
  static Result<kj::Own<TaskProcess>> Start(const ProcessLoop& loop, const SpawnSpec& spec, Events events);
  TaskProcess(const ProcessLoop& loop, Spawned spawned, Events events);
  ~TaskProcess();  // kills and reaps what still runs

  void Send(OwnedMessage<task::wire::ToTask> message);
  // Sends SIGKILL to its group. `cause` is what `ended` says, if nothing ended the process before.
  void Kill(std::string cause);
  [[nodiscard]] pid_t minder() const { return pid_; }

 private:
  static constexpr std::size_t kReadBytes = std::size_t{64} << 10;
  kj::Promise<void> Read();
  Status Deliver(std::size_t bytes);
  void Exited();
  void Silent();  // nothing more comes from it
  void EndIfOver();

  pid_t pid_;  // the minder's
  kj::Timer& timer_;
  Events events_;
  kj::AutoCloseFd pidfd_;
  kj::UnixEventPort::FdObserver exit_observer_;
  kj::Own<kj::AsyncIoStream> channel_;
  kj::Array<kj::byte> buffer_;
  task::FrameParser parser_;
  std::string cause_;          // why it was killed here
  std::optional<int> status_;  // as waitpid gave it, when reaped
  bool silent_ = false;        // its end of the channel is closed, or useless
  kj::Promise<void> writes_;   // one after the other
  rpc::TaskGroup tasks_;       // last: they use what stands above
};

}  // namespace millrace::worker
