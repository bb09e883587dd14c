// `millrace history` exports the history of a cluster as a workload file. Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/cli/verbs.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> HistoryVerbs();

// Returns the journal's lines of one job, or all lines, by number, which is the order of the events.
[[nodiscard]] Result<std::map<std::uint64_t, std::string>> ReadJournal(job::JobClient client,
                                                                       std::optional<JobId> only);
// Returns the whole journal as one text.
[[nodiscard]] Result<std::string> ReadWholeJournal(job::JobClient client);

// Returns the time, since the epoch, that was `duration` ago ("24h"). Returns kInvalid if the text is not a duration.
[[nodiscard]] Result<Micros> TimeAgo(const std::string& duration);

}  // namespace millrace::cli
