// SigintHold: Ctrl-C as a descriptor while a job is waited for. Make it on the main thread before others start: they
// inherit that SIGINT is blocked. Until Take, SIGINT ends the program as usual. Thread rule: the main thread.
#pragma once

#include "base/file.h"

namespace millrace::cli {

class SigintHold {
 public:
  SigintHold();
  ~SigintHold();  // as before
  SigintHold(const SigintHold&) = delete;
  SigintHold& operator=(const SigintHold&) = delete;

  void BeginThreads();  // blocked for threads that are started from now on
  void EndThreads();    // and not for the main thread
  // From now on fd() is readable when SIGINT came.
  void Take();
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Consume();  // one that came

 private:
  Fd fd_;
};

}  // namespace millrace::cli
