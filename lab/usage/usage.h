// SPDX-License-Identifier: Apache-2.0
// Usage: sums of what jobs used of a cluster, by user, pool, day or name of the job. Pure. Thread rule: free functions,
// any thread.
//
// Rules:
// - The time in a slot counts when it is spent: an attempt that runs over the border of two days, or of the period,
//   counts on both sides. What runs counts up to now.
// - A job itself, its bytes and the time for which it waited for its first slot count when the job ends; those of a job
//   that has not ended count now, if the period lasts until now. With days, a job is on the day of its end.
// - The time of an attempt that did not succeed is wasted. It is part of the time in slots, too.
// - Days are those of UTC.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/time.h"
#include "base/protocol/job_values.h"
#include "lab/usage/attempt_uses.h"

namespace millrace::usage {

inline constexpr Micros kDayLength = Micros{24} * 3600 * kSecond;

enum class UsageBy : std::uint8_t { kUser, kPool, kDay, kJobName };
inline constexpr std::array<std::string_view, 4> kUsageByNames = {"user", "pool", "day", "job-name"};

// The causes for which time in slots is wasted, in the order of their names.
inline constexpr std::array<UseEnd, 5> kWastes = {UseEnd::kFailed, UseEnd::kKilled, UseEnd::kLost, UseEnd::kPreempted,
                                                  UseEnd::kOutrun};
inline constexpr std::array<std::string_view, 5> kWasteNames = {"failed", "killed", "lost", "preempted", "outrun"};

struct UsageRow {
  std::string key;  // the user, the pool, "2026-01-31", or the name
  // Jobs: how many ended in each way, how many have not ended, and how many were lost with the master's database.
  std::uint64_t succeeded = 0, failed = 0, killed = 0, live = 0, lost = 0;
  Micros map = 0, copy = 0, compute = 0;  // in slots; a reduce copies until it computes
  std::array<Micros, kWastes.size()> wasted = {};
  std::uint64_t bytes_read = 0, bytes_shuffled = 0, bytes_written = 0;
  Micros waited = 0;  // for the first slot, from when the job had no other job to wait for

  [[nodiscard]] std::uint64_t jobs() const { return succeeded + failed + killed + live + lost; }
  [[nodiscard]] Micros slots() const { return map + copy + compute; }
  [[nodiscard]] Micros all_wasted() const;
  void Add(const UsageRow& other);  // all but the key
};

struct UsagePeriod {
  Micros since = 0, until = 0;  // since the epoch; `until` is not after now
  bool until_now = true;        // otherwise jobs that have not ended do not count, only their time in slots
};

// Returns the rows with anything in them, in the order of their keys. Attempts of jobs that are not among `jobs` do not
// count.
[[nodiscard]] std::vector<UsageRow> SumUsage(const std::vector<JobStatus>& jobs, const std::vector<AttemptUse>& uses,
                                             UsageBy by, const UsagePeriod& period);

// Returns the sum of the rows, under this key.
[[nodiscard]] UsageRow TotalOf(const std::vector<UsageRow>& rows, std::string key);

}  // namespace millrace::usage
