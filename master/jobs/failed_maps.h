// FailedMaps holds the inputs of a job's failed maps. It outlives the job, so that a failed attempt can be run again
// alone (`millrace job rerun`). It is stored under "m/<job>" from the job's end until the job is forgotten, and is not
// kept in memory. Pure. Thread rule: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/status.h"
#include "master/jobs/job_record.h"
#include "master/jobs/job_table.h"

namespace millrace::master {

using FailedMaps = std::map<std::uint32_t, MapSplits>;  // by the number of the map

// The most maps and splits that are kept for a job; one map is always kept.
inline constexpr std::size_t kMostFailedMaps = 100;
inline constexpr std::size_t kMostFailedSplits = 1000;  // of all its maps together

// Returns the inputs of the maps that have a failed attempt; attempts that were killed or lost do not count. If there
// are too many, those with the most failed attempts are kept; among equals, those with the lowest numbers. Requires:
// `splits` are the splits of the job's maps.
[[nodiscard]] FailedMaps FailedMapsOf(const std::vector<AttemptRecord>& attempts, const std::vector<MapSplits>& splits);

[[nodiscard]] std::string FailedMapsKey(JobId job);
[[nodiscard]] std::string EncodeFailedMaps(const FailedMaps& maps);
[[nodiscard]] Result<FailedMaps> DecodeFailedMaps(std::string_view value);

}  // namespace millrace::master
