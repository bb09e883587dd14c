// SPDX-License-Identifier: Apache-2.0
// The memory limit of a task process (RLIMIT_DATA, which counts memory that the process has written to or may write to,
// but not the files that it has mapped). A worker with an explicit task.memory_limit has set it before the program
// begins. The process sets the automatic limit itself, since that limit must not apply to a sanitizer, which reserves
// terabytes. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace {

// Limits the memory of this process to `bytes`, unless a sanitizer is in it or its limit is lower already.
void LimitMemory(std::uint64_t bytes);

// Returns the limit in bytes; nothing if there is none.
[[nodiscard]] std::optional<std::uint64_t> MemoryLimit();

}  // namespace millrace
