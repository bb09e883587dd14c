// NameThread sets the name under which `top -H`, gdb and core files show the calling thread.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace millrace {

// Linux keeps 15 characters; a longer name does not compile. Thread rule: any thread; it names the calling one.
template <std::size_t n>
void NameThread(const char (&name)[n]) {
  static_assert(n <= 16, "a thread's name has at most 15 characters");
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace millrace
