// SPDX-License-Identifier: Apache-2.0
// A crash report is a line on standard error. It is written when a signal that means a bug (SIGSEGV, SIGABRT, ...) is
// about to end the task's process. It gives the event, the hook of the job that was running, the job's own functions
// that were being called, and the place in the input:
//
//   millrace: SIGSEGV, null pointer (address 0x10), in Map: Parse(std::string_view) < Read(int); at /in/a, byte 16
//
// Files and lines come with them if the job was compiled with -g: "Parse(std::string_view) words.h:31". The report is
// the last line of the attempt's log, which the worker quotes. The process ends by the signal all the same. The handler
// makes only async-signal-safe calls, so another process (crash_frames.h) finds the names. If that fails, the line has
// no names.
#pragma once

#include "client/process/place.h"

namespace millrace {

// From now on, reports signals that mean a bug, except for those that already have a handler, such as a sanitizer's.
// The overflow of a stack is reported on the calling thread only. `namer` is the path of this executable, which must
// understand --millrace-frames, since it is run to read its own symbols. It is null if no names are wanted.
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
