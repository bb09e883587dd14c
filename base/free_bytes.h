// FreeBytes: the room left on a disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace millrace {

// Returns the number of bytes that this process may write to the file system of `path`. Any thread.
[[nodiscard]] Result<std::uint64_t> FreeBytes(const std::string& path);

// The type of FreeBytes. Code that needs to know the room takes a RoomProbe as an argument, so that a test can fill and
// clear a disk.
using RoomProbe = std::function<Result<std::uint64_t>(const std::string& path)>;

}  // namespace millrace
