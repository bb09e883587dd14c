// A workload file with measured times: the text of the file, in which the classes of [[jobs]] that were measured have
// `map_time`, `reduce_time` and `map_output` as they were found. All else stays as it is, comments too. What the class
// said of these is taken out, `map_rate` and `reduce_rate` with it. Times are divided by the file's `time_factor`, by
// which they are multiplied when it is read. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "client/compare/beside/costs.h"

namespace millrace::compare {

// `comment` is a line that is put before the values, without `#`. Returns kInvalid for text that is not a workload
// file, or whose classes are not tables of their own ([[jobs]]). Requires: the costs have the classes of the text.
[[nodiscard]] Result<std::string> WithMeasuredTimes(std::string_view text, const std::string& file_name,
                                                    const Costs& costs, const std::string& comment);

}  // namespace millrace::compare
