// SPDX-License-Identifier: Apache-2.0
// What the archives of Debian 12 take from its glibc (2.36) and glibc 2.34 has not. Only programs that are to run there
// have it (MILLRACE_ARCHIVES): it takes the place of glibc's own.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// libstdc++'s std::random_device. As glibc's, it has no way to fail but to end the process.
extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    if (errno != EINTR) std::abort();
  }
  return number;
}
