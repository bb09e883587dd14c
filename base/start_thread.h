// StartThread starts a thread and reports a refusal by the system. Thread rule: any thread.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace millrace {

// Starts a thread, which is joined when the returned object is destroyed. Fails if the system allows no more threads;
// `body` has not run then. It is for threads that start while a program runs. Threads that start with the program may
// throw instead, and RunProgram (base/program.h) reports that.
template <class Body>
[[nodiscard]] Result<std::jthread> StartThread(Body body) {
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& refused) {
    return FromErrno(refused.code().value(), "start a thread");
  }
}

}  // namespace millrace
