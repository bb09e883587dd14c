// Meters holds the clocks that measure the master's own work. Empty functions measure nothing. Thread rule: the control
// thread.
#pragma once

#include <cstdint>
#include <functional>

#include "base/ids/time.h"

namespace millrace::master {

struct Meters {
  std::function<std::int64_t()> nanoseconds = nullptr;  // since any moment; never goes back
  std::function<Micros()> processor_time = nullptr;     // of the process since it began, all threads together
};

// Returns the meters of this process.
[[nodiscard]] Meters SystemMeters();

}  // namespace millrace::master
