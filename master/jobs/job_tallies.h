// SPDX-License-Identifier: Apache-2.0
// JobTallies counts what happened to jobs since the master's process began, for its metrics. Thread rule: the control
// thread.
#pragma once

#include <array>
#include <cstdint>

#include "base/histogram.h"
#include "base/ids/ids.h"
#include "base/protocol/job_values.h"

namespace millrace::master {

struct JobTallies {
  static constexpr std::size_t kAttemptStates = 6, kJobStates = 6;

  std::array<std::array<std::uint64_t, kAttemptStates>, 2> attempts{};  // that ended, by kind and state
  std::array<std::uint64_t, kJobStates> jobs{};                         // that ended, by state
  std::uint64_t bytes_read = 0, bytes_shuffled = 0, bytes_written = 0;  // of succeeded attempts
  // In seconds: a call of the engine's Decide, and the wait of a job for its first launch, since
  // it waited for nothing else (JobRecord::queued).
  Histogram decide{{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2, 0.1, 1}};
  Histogram waits{{0.1, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 14400, 86400}};

  void NoteEnd(const AttemptId& attempt, AttemptState state) {
    ++attempts[attempt.task.reduce() ? 1 : 0].at(static_cast<std::size_t>(state));
  }
};

}  // namespace millrace::master
