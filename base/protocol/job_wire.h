// SPDX-License-Identifier: Apache-2.0
// Converts the values about a job that the client and the master exchange (job_values.h) to messages and back. Thread
// rule: free functions, any thread.
#pragma once

#include <limits>

#include "base/protocol/attempt_wire.h"
#include "base/protocol/job_values.h"
#include "base/protocol/master.capnp.h"
#include "base/status.h"

namespace millrace {

// Reads a client's request. Returns kInvalid for values that no client sends: more than 1000 reduces, a priority above
// 4, a fraction outside 0 to 1, ...
[[nodiscard]] Result<JobRequest> FromWire(master::wire::JobRequest::Reader in);
void ToWire(const JobRequest& request, master::wire::JobRequest::Builder out);

// A state that is not known here, since a newer master has sent it, counts as one that has not ended.
[[nodiscard]] JobStatus FromWire(master::wire::JobStatus::Reader in);
void ToWire(const JobStatus& status, master::wire::JobStatus::Builder out);
[[nodiscard]] AttemptStatus FromWire(master::wire::AttemptStatus::Reader in);
void ToWire(const AttemptStatus& status, master::wire::AttemptStatus::Builder out);

// Reads at most the first `most` counters, and the first 255 bytes of each name, as tasks do (client/job/counters.h).
[[nodiscard]] Counters FromWire(capnp::List<task::wire::Counter>::Reader in,
                                unsigned most = std::numeric_limits<unsigned>::max());
// Requires: the list has as many elements.
void ToWire(const Counters& counters, capnp::List<task::wire::Counter>::Builder out);

}  // namespace millrace
