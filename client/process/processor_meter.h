// SPDX-License-Identifier: Apache-2.0
// ProcessorMeter measures the use of the machine's cores by the attempts of a task process (getrusage(2), and the
// statistics of the kernel's scheduler in /proc/PID/task/TID/schedstat). Thread rule: one thread.
#pragma once

#include <map>

#include "base/ids/time.h"

namespace millrace {

// The same as ProcessorUse of the scheduler's events.
struct AttemptUse {
  Micros cpu = 0, waited = 0, start = 0;
};

class ProcessorMeter {
 public:
  // A thread's times on the cores.
  struct Thread {
    Micros on_core = 0, waited = 0;
  };

  // Begins an attempt. The process may have started for it.
  void Begin();
  // Returns the attempt's use since Begin, including the programs that it has run to their end, and those that it has
  // left running, which the kernel counts in hundredths of a second. `waited` is the wait of
  // the thread that has worked the most, since other threads, such as those that report, wait beside that thread.
  // Threads that have ended do not count. `waited` is 0 on a kernel that does not report it. `cpu` is never 0. If the
  // attempt is the first of the process, `start` is the time that the process had on cores before, and `waited`
  // includes its wait until then. Requires: Begin was called.
  [[nodiscard]] AttemptUse End();

 private:
  bool first_ = true;              // no attempt has begun yet
  Micros cpu_ = 0;                 // of the process, when the attempt began
  std::map<int, Thread> threads_;  // their times when the attempt began, by id
  Micros start_ = 0;
};

}  // namespace millrace
