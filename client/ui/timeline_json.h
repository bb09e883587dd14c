// SPDX-License-Identifier: Apache-2.0
// The documents that only the page has, from a timeline (docs/use/json.md). Thread rule: any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "client/ui/timeline.h"

namespace millrace::ui {

// Returns the attempts that changed after `since`, which is a version of the timeline: those of `job`, or of all jobs,
// which ended at `from` or later, or run at `now`. At most `most` of them, the ones that were launched last; if there
// are more of one job and `since` is 0, also how many ran on each node over time, of all.
[[nodiscard]] nlohmann::ordered_json StreamDocument(const Timeline& timeline, std::optional<JobId> job,
                                                    std::uint64_t since, Micros from, Micros now, std::size_t most);

// Returns the figures of a job at `now`: how long its attempts took, by kind, node and reduce, and where its time went.
[[nodiscard]] nlohmann::ordered_json SummaryDocument(const JobTrack& job, Micros now);

// Returns the last `most` decisions, the newest first: with launches, or without.
[[nodiscard]] nlohmann::ordered_json DecisionsDocument(const Timeline& timeline, std::size_t most, bool launches);

}  // namespace millrace::ui
