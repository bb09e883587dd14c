// SigintHold makes Ctrl-C readable from a descriptor while the program waits for a job. Until Catch, SIGINT ends the
// program as usual. Requires: the SigintHold is made on the main thread before other threads start, so that they
// inherit the blocked SIGINT. Thread rule: the main thread.
#pragma once

#include "base/file.h"

namespace millrace::cli {

class SigintHold {
 public:
  SigintHold();   // throws std::system_error if the system refuses the descriptor
  ~SigintHold();  // unblocks SIGINT
  SigintHold(const SigintHold&) = delete;
  SigintHold& operator=(const SigintHold&) = delete;

  void BeginThreads();  // blocks SIGINT for threads that are started from now on
  void EndThreads();    // unblocks SIGINT for the main thread
  // From now on, a SIGINT makes fd() readable.
  void Catch();
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Consume();  // takes one SIGINT that has come

 private:
  Fd fd_;
};

}  // namespace millrace::cli
