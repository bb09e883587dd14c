// The names of the files in a job's output. Pure. Thread rule: any thread.
#pragma once

#include <string>

#include "base/ids/ids.h"

namespace millrace {

// Returns "part-m-00003" or "part-r-00003", as Hadoop has it: five digits at least.
[[nodiscard]] std::string PartName(const TaskId& task);

}  // namespace millrace
