// What an attempt says of its progress, for those who judge whether it gets on. Thread rule: free functions, any
// thread.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/protocol/task.capnp.h"

namespace millrace::worker {

// The job's own task.timeout, else `otherwise`.
[[nodiscard]] Micros TimeoutOf(task::wire::JobSetup::Reader setup, Micros otherwise);

// Equal for reports that say the same; of different ones hardly ever.
[[nodiscard]] std::uint64_t MarkOf(task::wire::Progress::Reader progress);

}  // namespace millrace::worker
