// SPDX-License-Identifier: Apache-2.0
// Puts measured times into the text of a workload file. In each class of [[jobs]] that was measured, the measured
// `map_time`, `reduce_time` and `map_output` replace any former values, and `map_rate` and `reduce_rate` are removed.
// All else stays as it is, including comments. Times are divided by the file's `time_factor`, by which they are
// multiplied when the file is read. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "lab/beside/costs.h"

namespace millrace::compare {

// Returns the new text. `comment` is a line to put before the values, without `#`. Returns kInvalid if the text is not
// a workload file, or if its classes are not tables of their own ([[jobs]]). Requires: the costs have the classes of
// the text.
[[nodiscard]] Result<std::string> WithMeasuredTimes(std::string_view text, const std::string& file_name,
                                                    const Costs& costs, const std::string& comment);

}  // namespace millrace::compare
