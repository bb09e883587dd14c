// Threads that the system may refuse. Thread rule: any thread.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace millrace {

// Starts a thread, which is joined when the object goes. A failure says that the system gives no more of them; then
// nothing has run. For threads that are started while a program runs: those of its beginning may throw, and RunProgram
// (base/program.h) tells of it.
template <class Body>
[[nodiscard]] Result<std::jthread> StartThread(Body body) {
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& refused) {
    return FromErrno(refused.code().value(), "start a thread");
  }
}

}  // namespace millrace
