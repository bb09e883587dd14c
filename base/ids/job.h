// SPDX-License-Identifier: Apache-2.0
// Types of a job that its tasks, the client, the master and the engine share: the ways to split input, the terms on
// which the engine runs it, and its pool. The header includes the standard library alone, so that the
// engine may use it. Thread rule: values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// The places at which a map may begin to read: at each block of a file, at the first byte of a file alone, at each
// record of a fixed length; or the job reads no files, and its maps make the data from numbers.
enum class SplitBy : std::uint8_t { kBlock = 0, kFile = 1, kFixed = 2, kNumbers = 3 };
// The names, by value, with which a job's executable describes itself.
inline constexpr std::array<std::string_view, 4> kSplitByNames = {"block", "file", "fixed", "numbers"};

// The ways in which a job ends.
enum class JobOutcome : std::uint8_t { kSucceeded, kFailed, kKilled };

// A job's demands on the engine: the options `job.*` that the engine follows. The client's options, the request and the
// engine's description of a job all begin with these fields.
struct JobTerms {
  double slow_start = 0.05;  // the fraction of maps that must be done before a reduce may launch, 0 to 1
  // The job fails when this many attempts of one task have failed; at least 1. Attempts that were killed or lost do not
  // count.
  std::uint32_t max_attempts = 4;
  std::uint32_t max_failed_maps = 0;   // the percentage of maps that may be left out before a failed map fails the job
  std::uint32_t skip_bad_records = 0;  // how many records of a map may be left out before bad ones fail the map
  // Running tasks of this job get no second attempt, whatever the scheduler does for other jobs.
  bool no_speculation = false;
  auto operator<=>(const JobTerms&) const = default;
};
inline constexpr std::uint32_t kMostAttemptsOfTask = 100;
inline constexpr std::uint32_t kMostSkippedRecords = 1000;  // of a map

// Returns the pool of a job, for displays, counts and checks of rights: the one that it names, or else the one named
// after its user.
[[nodiscard]] inline const std::string& PoolOf(const std::string& named, const std::string& user) {
  return named.empty() ? user : named;
}

}  // namespace millrace
