// SPDX-License-Identifier: Apache-2.0
// The life of a task process: it is set up for one job, then runs attempts of that job, one at a time, until it is
// ordered to exit or the daemon is gone (base/protocol/task.capnp).
// Thread rule: one thread, which also runs the job's code; a second one reports progress while an attempt runs.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "base/file.h"
#include "base/random.h"
#include "client/job/attempt.h"
#include "client/process/storage.h"
#include "client/process/task_messages.h"

namespace millrace {

struct TaskLoopOptions {
  StorageAccess storage;
  std::chrono::milliseconds progress_interval{500};
  // Called on the reporter's thread when the daemon is gone while an attempt runs. A program exits at once then.
  std::function<void()> daemon_gone;
  Random random;
};

// The parameter that selects one of a program's jobs by its number.
inline constexpr const char* kPipelineJob = "pipeline.job";

// Returns the index of the job that the set-up selects: the first one if kPipelineJob is not set. A number that no job
// has also selects the first job, whose options then refuse the number. Requires: there is a job.
[[nodiscard]] std::size_t MeantJob(std::span<const JobBinding> jobs, const SetUp& set_up);

// Serves the channel until it ends, as a process of the job that the set-up selects. Returns 0 if the daemon ordered it
// to exit or closed the channel, 1 if the channel failed. Requires: there is a job.
[[nodiscard]] int RunTaskLoop(std::span<const JobBinding> jobs, Fd channel, TaskLoopOptions options);

}  // namespace millrace
