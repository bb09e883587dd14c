// SPDX-License-Identifier: Apache-2.0
// The description that a job executable gives of itself to the job client, and the check of -D options before a job is
// submitted.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"
#include "client/job/input_files.h"

namespace millrace {

// Returns one line of JSON: {"millrace_job":1, "name", "split_by":"block"|"file"|"fixed"|"numbers", "record_bytes" (0
// unless fixed), "maps" and "records" (0 unless numbers), "has_reduce", "combines", "decompresses", "text", "map_only",
// "prepares", "pipeline", "not_in_lines" (why it cannot be exported; empty if it can),
// "options":[{"name","type","default","range","help","required","engine"}]}. `arguments` are name=value pairs, which
// are checked and applied to the fields that depend on them; the first argument may be "--". If there are any
// arguments, the options must be fit to run the job. Returns kInvalid or kNotFound if one of them is unknown, missing
// or refused.
[[nodiscard]] Result<std::string> DescribeJob(const JobBinding& binding, const std::string& name,
                                              const std::vector<std::string>& arguments);

// Runs the job's Prepare, and samples its keys if they are in total order. `arguments` are name=value pairs, "--", and
// the inputs. Returns one line of JSON with the options that were set, all as text: {"millrace_prepared":
// {"name":"value"...}}.
[[nodiscard]] Result<std::string> PrepareJob(const JobBinding& binding, InputFiles& files, std::uint32_t reduces,
                                             const std::vector<std::string>& arguments);

}  // namespace millrace
