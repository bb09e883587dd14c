// SPDX-License-Identifier: Apache-2.0
// StartThread starts a thread and reports a refusal by the system; NameThread sets the name under which `top -H`, gdb
// and core files show the calling thread. Thread rule: any thread.
#pragma once

#include <pthread.h>

#include <cstddef>
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

// A literal of at most 15 characters, which is what Linux keeps; a longer one does not compile.
struct ThreadName {
  template <std::size_t n>
  consteval ThreadName(const char (&name)[n]) : text(name) {  // NOLINT(google-explicit-constructor): reads as a literal
    static_assert(n <= 16, "a thread's name has at most 15 characters");
  }
  const char* text;
};

inline void NameThread(ThreadName name) { ::pthread_setname_np(::pthread_self(), name.text); }

}  // namespace millrace
