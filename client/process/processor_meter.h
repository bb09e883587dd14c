// ProcessorMeter: what the attempts of a task process have of the machine's cores (getrusage(2), and the statistics of
// the kernel's scheduler in /proc/PID/task/TID/schedstat). Thread rule: one thread.
#pragma once

#include "base/ids/time.h"

namespace millrace {

// As ProcessorUse of the scheduler's events has it.
struct AttemptUse {
  Micros cpu = 0, waited = 0, start = 0;
};

class ProcessorMeter {
 public:
  // An attempt begins; its process may have started for it.
  void Begin();
  // Returns what the attempt has had since Begin, the programs included that it has run to their end. What a thread
  // waited that has ended meanwhile is not in it, nor any waiting on a kernel that does not tell. Its `cpu` is never 0.
  // If the attempt is the first of the process, `start` is what the process had before, and `waited` includes what the
  // process waited then. Requires: Begin was called.
  [[nodiscard]] AttemptUse End();

 private:
  bool first_ = true;  // no attempt has begun yet
  AttemptUse begun_;   // when the attempt began
  Micros start_ = 0;
};

}  // namespace millrace
