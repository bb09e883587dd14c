// What this machine does beside a run: how much of its processors others use, and how much the host takes (steal).
// From /proc/stat, getrusage and /proc/PID/stat (proc(5)). Thread rule: free functions, any thread.
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

// Returns what has been used since the machine was started; nothing of what cannot be read.
[[nodiscard]] MachineUse ReadMachineUse();
// Reads `busy` and `stolen` from the text of /proc/stat. `ticks` are those of a second.
void ParseProcStat(std::string_view text, double ticks, MachineUse* use);

// Returns why a run between the two readings says little: more than `threshold` (of 1) of the processors were used by
// others or taken by the host. Empty if it was not disturbed. Without `others` only what the host took counts.
[[nodiscard]] std::string Disturbance(const MachineUse& begin, const MachineUse& end, double threshold, bool others);

}  // namespace millrace::compare
