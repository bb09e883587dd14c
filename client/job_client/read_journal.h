// Reads the journal of a cluster through its master. Thread rule: the client's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/job_client/job_client.h"

namespace millrace::job {

// Returns the journal's lines of one job, or all lines, by number, which is the order of the events.
[[nodiscard]] Result<std::map<std::uint64_t, std::string>> ReadJournal(JobClient client, std::optional<JobId> only);

// Returns the whole journal as one text.
[[nodiscard]] Result<std::string> ReadWholeJournal(JobClient client);

}  // namespace millrace::job
