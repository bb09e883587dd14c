// SPDX-License-Identifier: Apache-2.0
// Guardian is a child process that outlives this process if this one is killed. The guardian then kills the processes
// that this one started and removes their directory. A pipe that ends tells the guardian that this process has ended.
// Thread rule: the same as for Process.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace millrace::local {

class Guardian {
 public:
  // `directory` is removed with all that is in it; if it is empty nothing is removed.
  static Result<Guardian> Start(const std::string& directory);
  Guardian(Guardian&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pipe_(std::move(other.pipe_)) {}
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian() { Dismiss(); }

  // Returns the descriptor to which leaders of process groups write their number and a newline.
  [[nodiscard]] int registry() const { return pipe_.get(); }
  // Ends the guardian, which removes nothing, since everything is cleaned up already.
  void Dismiss();
  // Lets the guardian do what it would do if this process were killed. Returns when nothing is left.
  void CleanUp();

 private:
  void Await();
  Guardian(pid_t pid, Fd pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  pid_t pid_;
  Fd pipe_;
};

}  // namespace millrace::local
