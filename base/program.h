// SPDX-License-Identifier: Apache-2.0
// RunProgram is the frame of every main: it repairs the descriptors and signals that the process inherits from its
// parent, and reports failures to the reader of its output. tests/lint requires it of every main. Thread rule: main,
// before there are other threads.
#pragma once

#include <functional>
#include <string>

namespace millrace {

// Repairs the inherited descriptors and signals, runs `body` and returns the exit status.
//
// Before `body`:
// - Closed standard descriptors are opened. Otherwise the next file opened (a database, a connection) would get the
//   number of a standard descriptor, and the log would be written into it. Reads from standard input and writes to
//   standard output then fail, as they do on closed descriptors; writes to standard error are dropped.
// - Signals are reset. The status of a child that ends is kept (SIGCHLD is not ignored). A program whose reader has
//   gone ends quietly (SIGPIPE). A write beyond the limit of file sizes fails instead of killing the process (SIGXFSZ).
//   No signal is blocked. Other signals that users have set to be ignored (nohup) stay ignored.
// After it:
// - An uncaught exception becomes status 1 and, on standard error, one line that begins with `name`. Such an exception
//   means that the system refused something: memory, a thread.
// - Status 0 becomes 1, with such a line on standard error, if output of stdio or std::cout could not be written.
[[nodiscard]] int RunProgram(const std::string& name, const std::function<int()>& body);

// Denies others write access to all files that this process makes from now on, whatever umask it inherited. For
// daemons, whose files belong to them alone.
void KeepOthersFromWriting();

// Repairs the descriptors and signals of this process, as RunProgram does.
void SetInheritedRight();

}  // namespace millrace
