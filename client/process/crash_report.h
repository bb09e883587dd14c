// A crash report is a line on standard error, written when a signal that means a bug (SIGSEGV, SIGABRT, ...) is about
// to end the task's process: what happened, in which function of the job, which of the job's own functions were being
// called, and where in the input:
//
//   millrace: SIGSEGV, null pointer (address 0x10), in Map: Parse(std::string_view) < Read(int); at /in/a, byte 16
//
// It is then the last line of the attempt's log, which the worker quotes; the line before it has the addresses. The
// process ends by the signal all the same. The handler makes only async-signal-safe calls: another process
// (crash_frames.h) finds the names. Where that fails the line has no names.
#pragma once

#include "client/process/place.h"

namespace millrace {

// Has such signals reported from now on, except for those that already have a handler, such as a sanitizer's. The
// overflow of a stack is reported on the calling thread only. `namer` is the path of an executable that understands
// --millrace-frames and reads the symbols of its own file, that is, of this executable. It is null where no names are
// wanted.
// Requires: one call in a process, before it has other threads; `namer` outlives the process.
void ReportCrashes(const char* namer);

// While a CrashPlace lives, crash reports name its place. Requires: there is only one at a time; `place` outlives it.
class CrashPlace {
 public:
  explicit CrashPlace(const Place& place);
  CrashPlace(const CrashPlace&) = delete;
  CrashPlace& operator=(const CrashPlace&) = delete;
  ~CrashPlace();
};

}  // namespace millrace
