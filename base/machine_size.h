// SPDX-License-Identifier: Apache-2.0
// The size of the machine: the room left on a disk, and the memory and cores that this process may use with its
// children: all that the machine has, or less where the control groups (cgroups(7), version 1 or 2) of a container or
// service allow less. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace millrace {

// Returns the memory in bytes; 0 if the system does not report it. `root` is where /proc and /sys are mounted, for
// tests.
[[nodiscard]] std::uint64_t MachineMemory(const std::string& root = "");

struct MachineCores {
  double count = 0;       // 0: unknown
  std::string shared_as;  // processes with an equal value may use the same cores; empty: no other process may

  // Returns the number of whole cores, at least 1.
  [[nodiscard]] std::uint64_t whole() const { return count < 1 ? 1 : static_cast<std::uint64_t>(count); }
};
// Returns the cores. A process that may use all online cores shares them with every other such process on the machine;
// `shared_as` is then the boot id of the machine. Cores that a control group or a CPU affinity (sched_setaffinity(2))
// leaves to the process count as its own. `affinity` is the number of cores, out of `online`, on which the process may
// run; if either is 0, the system is asked.
[[nodiscard]] MachineCores CoresOfMachine(const std::string& root = "", unsigned affinity = 0, unsigned online = 0);

// Returns the number of bytes that this process may write to the file system of `path`.
[[nodiscard]] Result<std::uint64_t> FreeBytes(const std::string& path);
// The type of FreeBytes. Code that needs to know the room takes a RoomProbe as an argument, so that a test can fill and
// clear a disk.
using RoomProbe = std::function<Result<std::uint64_t>(const std::string& path)>;

}  // namespace millrace
