// ProcessorMeter: what the attempts of a task process have of the machine's cores (getrusage(2), and the statistics of
// the kernel's scheduler in /proc/PID/task/TID/schedstat). Thread rule: one thread.
#pragma once

#include <map>

#include "base/ids/time.h"

namespace millrace {

// As ProcessorUse of the scheduler's events has it.
struct AttemptUse {
  Micros cpu = 0, waited = 0, start = 0;
};

class ProcessorMeter {
 public:
  // What a thread has had of the cores.
  struct Thread {
    Micros on_core = 0, waited = 0;
  };

  // An attempt begins; its process may have started for it.
  void Begin();
  // Returns what the attempt has had since Begin, the programs included that it has run to their end. It has waited as
  // long as that thread of it which has worked the most: others, such as those that report, wait beside it. A thread
  // that has ended is not among them, nor is there any waiting on a kernel that does not tell. `cpu` is never 0. If the
  // attempt is the first of the process, `start` is what the process had before, and `waited` includes what it waited
  // then. Requires: Begin was called.
  [[nodiscard]] AttemptUse End();

 private:
  bool first_ = true;              // no attempt has begun yet
  Micros cpu_ = 0;                 // of the process, when the attempt began
  std::map<int, Thread> threads_;  // likewise, by id
  Micros start_ = 0;
};

}  // namespace millrace
