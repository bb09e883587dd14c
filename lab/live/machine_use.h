// SPDX-License-Identifier: Apache-2.0
// Measures the use of this machine beside a run: the part of its processors that others use, and the part that the host
// takes (steal). The figures are from /proc/stat (proc(5)) and getrusage. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace millrace::compare {

// Seconds of processors, and the time of the reading.
struct MachineUse {
  double busy = 0;    // by processes
  double stolen = 0;  // by the host
  double own = 0;     // of `busy`: by this process and by its children that have ended
  double at = 0;      // seconds of a clock that never goes back
  unsigned processors = 1;
};

// Returns the use since the machine was started; figures that cannot be read are left at 0.
[[nodiscard]] MachineUse ReadMachineUse();
// Reads `busy` and `stolen` from the text of /proc/stat. `ticks` is their number per second.
void ParseProcStat(std::string_view text, double ticks, MachineUse* use);

// Returns a description of the disturbance of a run between the two readings: others and the host together took more
// than `threshold` (of 1) of the processors. Empty if the run was not disturbed. Without `others` only the host's part
// counts.
[[nodiscard]] std::string Disturbance(const MachineUse& begin, const MachineUse& end, double threshold, bool others);

}  // namespace millrace::compare
