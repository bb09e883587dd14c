// The border of every program: what it inherits from whoever started it, and what it owes to whoever reads its output.
// tests/lint holds every main to RunProgram. Thread rule: main, before there are other threads.
#pragma once

#include <functional>
#include <string>

namespace millrace {

// Sets right what is inherited, runs `body` and returns the exit status.
//
// Before `body`:
// - Standard descriptors that are closed are opened, since what is opened next (a database, a connection) would get
//   their numbers, and the log would be written into it. Reading the input and writing the output fail, as they would
//   have if these were closed; what is written to standard error is dropped.
// - A child that ends is waited for (SIGCHLD is not ignored: statuses would be lost), a program whose reader has gone
//   ends quietly (SIGPIPE), a write beyond the limit of file sizes fails and does not kill (SIGXFSZ), and no signal is
//   blocked. What users ask for by a signal that is ignored (nohup) stays.
// After it:
// - An exception that nobody caught is one line on standard error, which begins with `name`, and status 1. It is what
//   the system refused: memory, a thread.
// - Status 0 becomes 1, after such a line, if something that was printed by stdio or std::cout could not be written.
[[nodiscard]] int RunProgram(const std::string& name, const std::function<int()>& body);

// Lets nobody else change what this process makes from now on, whatever umask it has inherited. For daemons, whose
// files are nobody's but theirs.
void KeepOthersFromWriting();

// Sets right the descriptors and signals of this process, as RunProgram does.
void SetInheritedRight();

}  // namespace millrace
