// How much memory and how many cores this process may use with its children: what the machine has, or less if control
// groups (cgroups(7), version 1 or 2) of containers and services allow less.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// Returns the bytes; 0 if the system does not say. `root` is where /proc and /sys are mounted, for tests.
[[nodiscard]] std::uint64_t MachineMemory(const std::string& root = "");

struct MachineCores {
  double count = 0;       // 0: not known
  std::string shared_as;  // processes that say the same may use the same cores; empty: the cores are this process's own

  // Returns how many whole ones there are, at least 1.
  [[nodiscard]] std::uint64_t whole() const { return count < 1 ? 1 : static_cast<std::uint64_t>(count); }
};
// Returns the cores. Who may use all of a machine shares them with all others there that may, by the machine's boot;
// what a control group, or a set of cores (sched_setaffinity(2)), leaves of them is taken to be nobody else's.
// `affinity` is how many cores of so many that are `online` the process may be placed on; 0: ask the system.
[[nodiscard]] MachineCores CoresOfMachine(const std::string& root = "", unsigned affinity = 0, unsigned online = 0);

}  // namespace millrace
