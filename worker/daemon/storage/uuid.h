// Makes version-4 UUIDs (RFC 4122), for a worker's storage and for its block directories. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"

namespace millrace::worker {

[[nodiscard]] std::string MakeUuid(Random& random);
[[nodiscard]] bool IsUuid(std::string_view text);

}  // namespace millrace::worker
