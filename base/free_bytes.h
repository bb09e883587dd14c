// How much room a disk has left for us.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace millrace {

// Bytes that may be written to the file system that holds `path`. Any thread.
[[nodiscard]] Result<std::uint64_t> FreeBytes(const std::string& path);

// Who asks is given this, so that a test can fill and clear a disk.
using RoomProbe = std::function<Result<std::uint64_t>(const std::string& path)>;

}  // namespace millrace
