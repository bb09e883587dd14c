// JobProgress: the progress of a job, for status pages and progress bars.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// A JobProgress is a cheap copy of counters. "running" and "done" count tasks, not attempts: a task with two running
// attempts counts once.
struct JobProgress {
  JobId job;
  Priority priority = Priority::kNormal;
  Micros submitted = 0;
  Micros started = 0;  // the time of the first launch; 0 before it
  Micros ended = 0;    // 0 while it lives
  std::uint32_t maps = 0, maps_running = 0, maps_done = 0;
  std::uint32_t maps_left_out = 0;     // of those done
  std::uint32_t records_left_out = 0;  // by maps that are not left out themselves
  std::uint32_t reduces = 0, reduces_running = 0, reduces_done = 0;
  std::uint32_t failed_attempts = 0;       // AttemptFailed
  std::uint32_t killed_attempts = 0;       // killed by the engine, and lost (AttemptLost, NodeLost)
  std::uint32_t preempted_attempts = 0;    // AttemptPreempted
  std::uint32_t speculative_attempts = 0;  // launched while another attempt of their task ran
  std::uint32_t launched_at[4] = {};       // map launches by Locality
  std::optional<JobOutcome> outcome;       // none while it lives
};

}  // namespace millrace::sched
