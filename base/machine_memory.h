// How much memory this process may use with its children: what the machine has, or less if control groups (cgroups(7),
// version 1 or 2) of containers and services allow less.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// Returns the bytes; 0 if the system does not say. `root` is where /proc and /sys are mounted, for tests.
[[nodiscard]] std::uint64_t MachineMemory(const std::string& root = "");

}  // namespace millrace
