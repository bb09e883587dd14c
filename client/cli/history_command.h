// `millrace history` makes something of what has happened on a cluster. Thread rule: the main thread.
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

// Returns the journal's lines of one job, or of everything, by their numbers: in the order in which they happened.
[[nodiscard]] Result<std::map<std::uint64_t, std::string>> ReadJournal(job::JobClient client,
                                                                       std::optional<JobId> only);
// Returns the whole journal as one text.
[[nodiscard]] Result<std::string> ReadWholeJournal(job::JobClient client);

// Returns the time, since the epoch, that lies so far back ("24h"). kInvalid for what is no duration.
[[nodiscard]] Result<Micros> TimeAgo(const std::string& duration);

}  // namespace millrace::cli
