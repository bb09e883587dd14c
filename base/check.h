// SPDX-License-Identifier: Apache-2.0
// MILLRACE_CHECK states an invariant. If it fails there is a bug: the process prints what failed and where, and aborts.
#pragma once

#include <string_view>

namespace millrace {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view detail);

}  // namespace millrace

// detail: the values that make the failure understandable (a string, built only on failure).
#define MILLRACE_CHECK(condition, detail)                                \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::millrace::CheckFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
