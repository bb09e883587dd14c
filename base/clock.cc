// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <chrono>

namespace millrace {

Micros SystemClock::Now() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace millrace
