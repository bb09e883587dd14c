// Guardian: a child process that outlives us if we are killed, and then kills what we started and removes our
// directory. It learns of our end by the end of a pipe. Thread rule: as Process.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace millrace::local {

class Guardian {
 public:
  // `directory`: removed with all that is in it; empty: nothing is removed.
  static Result<Guardian> Start(const std::string& directory);
  Guardian(Guardian&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pipe_(std::move(other.pipe_)) {}
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian() { Dismiss(); }

  // Leaders of process groups write their number and a newline here.
  [[nodiscard]] int registry() const { return pipe_.get(); }
  // Everything is cleaned up already: it ends without doing anything.
  void Dismiss();
  // As if we had been killed; returns when nothing is left.
  void CleanUp();

 private:
  void Await();
  Guardian(pid_t pid, Fd pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  pid_t pid_;
  Fd pipe_;
};

}  // namespace millrace::local
