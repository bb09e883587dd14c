// SPDX-License-Identifier: Apache-2.0
// ProgressReporter is a thread that reports an attempt's progress to the daemon while the task's thread works, and that
// notices when the daemon is gone or sends a message.
// Thread rule: it is made and destroyed on the task's thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/file.h"
#include "client/job/task_context.h"
#include "worker/task/channel/channel.h"

namespace millrace {

class ProgressReporter {
 public:
  // Reports every `interval`, on its own thread. If there is a message to read, that thread calls `order`, which reads
  // the message. If the peer has closed its end, the thread calls `daemon_gone` once and ends. Requires: all arguments
  // outlive this, and nothing else reads the channel meanwhile.
  ProgressReporter(task::Channel& channel, TaskContext& context, std::chrono::milliseconds interval,
                   const std::function<void()>& order, const std::function<void()>& daemon_gone);
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;
  // Ends the reports; none is sent afterwards.
  ~ProgressReporter();

 private:
  void ReportUntilStopped();
  void Report();

  task::Channel& channel_;
  TaskContext& context_;
  const std::chrono::milliseconds interval_;
  const std::function<void()>& order_;
  const std::function<void()>& daemon_gone_;
  Fd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace millrace
