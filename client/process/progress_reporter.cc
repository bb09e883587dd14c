// SPDX-License-Identifier: Apache-2.0
#include "client/process/progress_reporter.h"

#include <capnp/message.h>
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>

#include "base/check.h"
#include "base/thread.h"
#include "client/process/task_messages.h"

namespace millrace {

ProgressReporter::ProgressReporter(task::Channel& channel, TaskContext& context, std::chrono::milliseconds interval,
                                   const std::function<void()>& order, const std::function<void()>& daemon_gone)
    : channel_(channel),
      context_(context),
      interval_(interval),
      order_(order),
      daemon_gone_(daemon_gone),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_.valid()) throw std::system_error(errno, std::generic_category(), "make an event descriptor");
  thread_ = std::thread([this] { ReportUntilStopped(); });
}

ProgressReporter::~ProgressReporter() {
  const std::uint64_t one = 1;
  MILLRACE_CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one, std::strerror(errno));
  thread_.join();
}

void ProgressReporter::ReportUntilStopped() {
  NameThread("progress");
  while (true) {
    pollfd fds[] = {{stop_.get(), POLLIN, 0}, {channel_.fd(), POLLIN | POLLRDHUP, 0}};
    const int ready = ::poll(fds, 2, static_cast<int>(interval_.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents != 0) return;
    if ((fds[1].revents & ~POLLIN) != 0) {
      daemon_gone_();
      return;
    }
    if (fds[1].revents != 0) {
      order_();
      continue;
    }
    Report();
  }
}

// A failure is passed over: the next poll notices a peer that is gone, and a message that is too large is left out.
// If the job has run out of memory, its own thread reports that.
void ProgressReporter::Report() {
  try {
    capnp::MallocMessageBuilder message;
    EncodeProgress(
        context_.facts().attempt, context_.fraction(), context_.status(), context_.counters().Snapshot(),
        context_.emitted().load(std::memory_order_relaxed) + context_.values_taken().load(std::memory_order_relaxed),
        &message);
    (void)channel_.Write(message);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace millrace
