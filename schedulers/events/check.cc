// SPDX-License-Identifier: Apache-2.0
#include "schedulers/events/check.h"

#include <cstdio>
#include <cstdlib>

namespace millrace::sched {

void CheckFailed(const char* file, int line, const char* condition, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %.*s\n", file, line, condition, static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}

}  // namespace millrace::sched
