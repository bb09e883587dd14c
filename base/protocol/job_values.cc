// SPDX-License-Identifier: Apache-2.0
#include "base/protocol/job_values.h"

#include <limits>

namespace millrace {

std::string_view ToString(JobState state) {
  switch (state) {
    case JobState::kWaiting:
      return "waiting";
    case JobState::kRunning:
      return "running";
    case JobState::kSucceeded:
      return "succeeded";
    case JobState::kFailed:
      return "failed";
    case JobState::kKilled:
      return "killed";
    case JobState::kLost:
      return "lost";
  }
  return "unknown";
}

JobState StateOf(JobOutcome outcome) {
  switch (outcome) {
    case JobOutcome::kSucceeded:
      return JobState::kSucceeded;
    case JobOutcome::kFailed:
      return JobState::kFailed;
    case JobOutcome::kKilled:
      return JobState::kKilled;
  }
  return JobState::kFailed;
}

std::string_view ToString(AttemptState state) {
  switch (state) {
    case AttemptState::kRunning:
      return "running";
    case AttemptState::kSucceeded:
      return "succeeded";
    case AttemptState::kFailed:
      return "failed";
    case AttemptState::kKilled:
      return "killed";
    case AttemptState::kLost:
      return "lost";
    case AttemptState::kPreempted:
      return "preempted";
  }
  return "unknown";
}

void AddCounter(const Counters::key_type& name, std::int64_t value, Counters* to) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t& sum = (*to)[name];
  if (__builtin_add_overflow(sum, value, &sum)) sum = value > 0 ? Limits::max() : Limits::min();
}

void AddCounters(const Counters& from, Counters* to) {
  for (const auto& [name, value] : from) AddCounter(name, value, to);
}

}  // namespace millrace
