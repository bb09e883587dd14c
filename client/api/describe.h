// What a job executable says of itself to the job client, and the check of -D options before a job is submitted.
// Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/api/attempt.h"

namespace millrace {

// One line of JSON: {"millrace_job":1, "name", "split_by":"block"|"file"|"fixed"|"numbers", "record_bytes" (0 unless
// fixed), "maps" and "records" (0 unless numbers), "has_reduce", "combines",
// "options":[{"name","type","default","range","help","required","engine"}]}. `arguments`: name=value pairs, which are
// checked and decide what depends on them. With any argument, of which the first may be "--", the options must be fit
// to run the job: kInvalid or kNotFound when one is unknown, missing or refused.
[[nodiscard]] Result<std::string> DescribeJob(const JobBinding& binding, const std::string& name,
                                              const std::vector<std::string>& arguments);

}  // namespace millrace
