// SPDX-License-Identifier: Apache-2.0
// SCHED_CHECK: an invariant of the scheduler core. A failed check is a bug of the engine or of a policy: the process
// prints the condition, the place and the values, and aborts. The core has its own macro because it depends on the
// standard library alone.
#pragma once

#include <string_view>

namespace millrace::sched {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view detail);

}  // namespace millrace::sched

// detail: the values that make the failure understandable (a string, built only on failure).
#define SCHED_CHECK(condition, detail)                                          \
  do {                                                                          \
    if (!(condition)) [[unlikely]]                                              \
      ::millrace::sched::CheckFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
