// SPDX-License-Identifier: Apache-2.0
// A job as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing. Format: the JSON of "Trace Event Format"
// (Google, 2016): complete events (X), metadata (M) and flows (s, f), times in microseconds since the epoch.
//
// A node is a process, and a slot is a thread of it. The master does not number slots, so attempts are laid out: each
// takes the first slot of its kind that is free when it is launched. A span is an attempt; that of a reduce holds spans
// for its copying, its wait for a compute permit, and its computing. Arrows lead from the end of a map to the reduces
// that copied from it. Pure, but for the verb (commands.h). Thread rule: any thread.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

// There are at most so many arrows. Each reduce then gets those of the maps that ended last before it had copied all,
// since they are what it waited for.
inline constexpr std::size_t kMostArrows = 5'000;

// Returns the events of the trace. `history` holds lines of the journal, by number; lines that this version cannot read
// say nothing. An attempt that has not ended ends at `now`.
[[nodiscard]] std::vector<nlohmann::ordered_json> TraceEvents(const JobStatus& job,
                                                              const std::vector<AttemptStatus>& attempts,
                                                              const std::map<std::uint64_t, std::string>& history,
                                                              Micros now);

}  // namespace millrace::cli
