// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/task_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <utility>

#include "base/child_process.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {
namespace {

// The end of the channel and the end of the process are noticed shortly after each other, in either order. But a
// process may close its channel and go on, and a descendant that left the group may hold it open, so after this time
// nobody waits for the other end.
constexpr kj::Duration kDrain = 1 * kj::SECONDS;

constexpr int kUnknown = -1;  // no status of waitpid: how the process ended was not to be learnt

constexpr unsigned kOwned = kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP | kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                            kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;

}  // namespace

Result<kj::Own<TaskProcess>> TaskProcess::Start(const ProcessLoop& loop, const SpawnSpec& spec, Events events) {
  MILLRACE_ASSIGN(Spawned spawned, Spawn(spec));
  return kj::heap<TaskProcess>(loop, std::move(spawned), std::move(events));
}

TaskProcess::TaskProcess(const ProcessLoop& loop, Spawned spawned, Events events)
    : pid_(spawned.pid),
      timer_(loop.timer),
      events_(std::move(events)),
      pidfd_(spawned.pidfd.Release()),
      exit_observer_(loop.port, pidfd_, kj::UnixEventPort::FdObserver::OBSERVE_READ),
      channel_(loop.io.wrapSocketFd(spawned.channel.Release(), kOwned)),
      buffer_(kj::heapArray<kj::byte>(kReadBytes)),
      writes_(kj::READY_NOW) {
  tasks_.Add(exit_observer_.whenBecomesReadable().then([this] { Exited(); }));
  tasks_.Add(Read().catch_([](kj::Exception&&) {}).then([this] { Silent(); }));
}

TaskProcess::~TaskProcess() {
  if (status_) return;
  EndSpawned(pid_);
  Reap();
}

bool TaskProcess::Reap() {
  if (status_) return true;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid_, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  if (ended < 0) {
    if (cause_.empty()) cause_ = FromErrno(errno, "learn how the task's process ended").message();
    status = kUnknown;
  }
  if (ended != 0) status_ = status;
  return status_.has_value();
}

void TaskProcess::EndAll(const std::vector<TaskProcess*>& processes, std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  for (const TaskProcess* process : processes) {
    if (!process->status_) EndSpawned(process->pid_);
  }
  for (TaskProcess* process : processes) {
    while (!process->Reap()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return;
      pollfd over{process->pidfd_.get(), POLLIN, 0};
      (void)poll(&over, 1, static_cast<int>(left.count()));
    }
  }
}

void TaskProcess::Send(OwnedMessage<task::wire::ToTask> message) {
  auto frame = task::EncodeFrame(message.message());
  if (!frame.ok()) return Kill(frame.status().message());
  writes_ = writes_
                .then([this, bytes = kj::heap<std::string>(std::move(*frame))]() mutable {
                  auto write = channel_->write(bytes->data(), bytes->size());
                  return write.attach(kj::mv(bytes));
                })
                .eagerlyEvaluate([](kj::Exception&&) {});  // the reading side notices the end as well
}

void TaskProcess::Kill(std::string cause) {
  if (status_) return;
  if (cause_.empty()) cause_ = std::move(cause);
  EndSpawned(pid_);
}

kj::Promise<void> TaskProcess::Read() {
  return channel_->tryRead(buffer_.begin(), 1, buffer_.size()).then([this](std::size_t size) -> kj::Promise<void> {
    if (size == 0) return kj::READY_NOW;
    if (const Status status = Deliver(size); !status.ok()) {
      Kill("the task process sent bytes that make no sense: " + status.message());
      return kj::READY_NOW;
    }
    read_at_once_ += size;
    if (read_at_once_ < kMostBytesAtOnce) return Read();
    read_at_once_ = 0;
    return timer_.afterDelay(kReadPause).then([this] { return Read(); });
  });
}

Status TaskProcess::Deliver(std::size_t bytes) {
  parser_.Feed({reinterpret_cast<const char*>(buffer_.begin()), bytes});
  for (;;) {
    MILLRACE_ASSIGN(auto message, parser_.Next());
    if (!message) return Status::Ok();
    Status decoded;
    try {
      events_.message(message->Root<task::wire::FromTask>());
    } catch (const kj::Exception& malformed) {
      decoded = Corrupt(rpc::FromException(malformed).message());
    }
    MILLRACE_TRY(decoded);
  }
}

void TaskProcess::Exited() {
  if (!Reap()) {
    tasks_.Add(exit_observer_.whenBecomesReadable().then([this] { Exited(); }));
    return;
  }
  if (!silent_) tasks_.Add(timer_.afterDelay(kDrain).then([this] { Silent(); }));
  EndIfOver();
}

void TaskProcess::Silent() {
  silent_ = true;
  if (!status_) {
    tasks_.Add(timer_.afterDelay(kDrain).then([this] { Kill("the task process closed its channel to the worker"); }));
  }
  EndIfOver();
}

void TaskProcess::EndIfOver() {
  if (!status_ || !silent_ || !events_.ended) return;
  const bool by_us =
      !cause_.empty() && (*status_ == kUnknown || (WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL));
  auto ended = std::exchange(events_.ended, nullptr);
  ended(by_us ? cause_ : DescribeExit(*status_));
}

}  // namespace millrace::worker
