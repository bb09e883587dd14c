// SPDX-License-Identifier: Apache-2.0
// TaskRunner separates the agent, which decides, from the code that executes attempts: processes (process_runner.h) or
// a timer (tests/fakes/synthetic_worker.h). Thread rule: the control thread, for calls of the runner and of the
// observer.
#pragma once

#include <capnp/message.h>
#include <kj/async.h>
#include <kj/memory.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/protocol/attempt_wire.h"
#include "base/protocol/task.capnp.h"
#include "worker/task/channel/record_note.h"

namespace millrace::worker {

// OwnedMessage is a Cap'n Proto struct that owns its bytes, for messages that are kept (launches that wait, reports
// that are repeated). Thread rule: a value.
template <class T>
class OwnedMessage {
 public:
  OwnedMessage() : message_(kj::heap<capnp::MallocMessageBuilder>()), root_(message_->template initRoot<T>()) {}
  explicit OwnedMessage(typename T::Reader original)
      : message_(kj::heap<capnp::MallocMessageBuilder>()), root_(nullptr) {
    message_->setRoot(original);
    root_ = message_->template getRoot<T>();
  }
  OwnedMessage(OwnedMessage&&) noexcept = default;
  OwnedMessage& operator=(OwnedMessage&&) noexcept = default;

  [[nodiscard]] typename T::Builder builder() { return root_; }
  [[nodiscard]] typename T::Reader reader() const { return root_.asReader(); }
  [[nodiscard]] capnp::MessageBuilder& message() { return *message_; }
  [[nodiscard]] std::size_t bytes() const { return root_.totalSize().wordCount * sizeof(capnp::word); }

 private:
  kj::Own<capnp::MallocMessageBuilder> message_;
  typename T::Builder root_;
};

struct TaskFailure {
  std::string error;                                       // one line: "killed by signal 11 (SIGSEGV)"
  std::string stderr_tail;                                 // the last lines that the attempt wrote to standard error
  std::optional<task::RecordPlace> record = std::nullopt;  // the record that a map was working on, if it noted one
  bool permanent = false;  // the task says that another attempt would fail in the same way
};

// TaskObserver learns once of the end of every attempt that is done or has failed, but not of one that was killed. The
// runner never calls it from inside a call of its own.
class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  virtual void TaskProgress(const AttemptId& attempt, OwnedMessage<task::wire::Progress> progress) = 0;
  virtual void TaskDone(const AttemptId& attempt, OwnedMessage<task::wire::Done> done) = 0;
  virtual void TaskFailed(const AttemptId& attempt, TaskFailure failure) = 0;
};

class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  // Sets the observer; null ends the reports. Requires: Observe is called before anything else.
  virtual void Observe(TaskObserver* observer) = 0;
  // Sets the executable of a job's processes, and their first message. Requires: SetUpJob is called before the job's
  // first attempt.
  virtual void SetUpJob(JobId job, std::string executable, OwnedMessage<task::wire::SetUp> set_up) = 0;
  // Begins an attempt. Requires: its job is set up, and the attempt does not run.
  virtual void RunMap(OwnedMessage<task::wire::RunMap> launch) = 0;
  virtual void RunReduce(OwnedMessage<task::wire::RunReduce> launch) = 0;
  // Kills the attempt; nothing more about it is reported to the observer. Resolves when none of its processes runs any
  // more; at once if none does.
  [[nodiscard]] virtual kj::Promise<void> Kill(const AttemptId& attempt) = 0;
  // Does what Kill does for all of the job's attempts, and ends its processes that have no attempt.
  [[nodiscard]] virtual kj::Promise<void> EndJob(JobId job) = 0;
  // Does what EndJob does, and forgets the job's set-up.
  [[nodiscard]] virtual kj::Promise<void> ForgetJob(JobId job) = 0;
};

}  // namespace millrace::worker
