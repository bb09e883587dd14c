// How much memory and how many cores this process may use with its children: what the machine has, or less if control
// groups (cgroups(7), version 1 or 2) of containers and services allow less.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// Returns the bytes; 0 if the system does not say. `root` is where /proc and /sys are mounted, for tests.
[[nodiscard]] std::uint64_t MachineMemory(const std::string& root = "");

// Returns the cores, at least 1: as many as threads of this process may run on (sched_getaffinity(2), which minds
// cpusets), but no more than whole ones of a quota (cpu.max, cpu.cfs_quota_us).
[[nodiscard]] std::uint64_t MachineCores();
// The same with `allowed` in place of what the system says of this process, for tests.
[[nodiscard]] std::uint64_t MachineCores(std::uint64_t allowed, const std::string& root);

}  // namespace millrace
