// Meters holds the clocks that measure the master's own work. Empty functions measure nothing. Thread rule: the control
// thread.
#pragma once

#include <cstdint>
#include <functional>

#include "base/ids/time.h"

namespace millrace::master {

struct Meters {
  std::function<std::int64_t()> nanoseconds = nullptr;  // since an arbitrary moment; never decreases
  std::function<Micros()> processor_time = nullptr;     // used by all threads since the process began
};

// Returns the meters of this process.
[[nodiscard]] Meters SystemMeters();

}  // namespace millrace::master
