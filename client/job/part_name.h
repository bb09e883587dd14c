// The names of the files in a job's output. Pure. Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/ids/ids.h"

namespace millrace {

// Returns "part-m-00003" or "part-r-00003", as Hadoop does: with at least five digits. A named output's name replaces
// "part".
[[nodiscard]] std::string PartName(const TaskId& task, std::string_view output = "part");

}  // namespace millrace
