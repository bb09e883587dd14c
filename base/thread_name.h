// NameThread sets the name under which `top -H`, gdb and core files show the calling thread.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace millrace {

// A literal of at most 15 characters, which is what Linux keeps; a longer one does not compile.
struct ThreadName {
  template <std::size_t n>
  consteval ThreadName(const char (&name)[n]) : text(name) {  // NOLINT(google-explicit-constructor): reads as a literal
    static_assert(n <= 16, "a thread's name has at most 15 characters");
  }
  const char* text;
};

// Thread rule: any thread; it names the calling one.
inline void NameThread(ThreadName name) { ::pthread_setname_np(::pthread_self(), name.text); }

}  // namespace millrace
