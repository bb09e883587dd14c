// Helps to find out from an attempt's reports whether it makes progress. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/protocol/task.capnp.h"

namespace millrace::worker {

// Returns the job's own task.timeout; `otherwise` if it has none.
[[nodiscard]] Micros TimeoutOf(task::wire::JobSetup::Reader setup, Micros otherwise);

// Returns a mark that is equal for reports with the same content, and hardly ever equal for others.
[[nodiscard]] std::uint64_t MarkOf(task::wire::Progress::Reader progress);

}  // namespace millrace::worker
