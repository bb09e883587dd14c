// SPDX-License-Identifier: Apache-2.0
// `millrace history` exports the history of a cluster as a workload file. Thread rule: the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> HistoryVerbs();

// Returns the time, since the epoch, that was `duration` ago ("24h"). Returns kInvalid if the text is not a duration.
[[nodiscard]] Result<Micros> TimeAgo(const std::string& duration);

}  // namespace millrace::cli
