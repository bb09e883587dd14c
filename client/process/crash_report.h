// A crash report is one line on standard error, written when a signal that means a bug (SIGSEGV, SIGABRT, ...) is about
// to end the task's process: "millrace: SIGSEGV, address 0x10; at /in/a, byte 16". It is then the last line of the
// attempt's log, which the worker quotes. The process ends by the signal all the same.
#pragma once

#include "client/process/map_place.h"

namespace millrace {

// Has such signals reported from now on, but for those that somebody handles already, as a sanitizer does. A stack that
// has overflowed is reported on the calling thread. Requires: one call in a process, before it has other threads.
void ReportCrashes();

// While it lives, crash reports say this place. Requires: there is one at a time; `place` outlives it.
class CrashPlace {
 public:
  explicit CrashPlace(const MapPlace& place);
  CrashPlace(const CrashPlace&) = delete;
  CrashPlace& operator=(const CrashPlace&) = delete;
  ~CrashPlace();
};

}  // namespace millrace
