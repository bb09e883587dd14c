// From the inputs a user names to the splits of map tasks. Pure.
//
// An input is a file, a directory (every file below it, but not what begins with '_' or '.', as in Hadoop: those are
// marks and logs), or a glob (* ? [...] within components). A file named twice is read twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/name/namespace.h"
#include "master/job_record.h"

namespace millrace::master {

// kNotFound names the input that is not there or the glob that matches nothing.
[[nodiscard]] Result<std::vector<Split>> ComputeSplits(const dfs::Namespace& names,
                                                       const std::vector<std::string>& inputs, SplitBy split_by);

// Splits of the numbers below `records`, which differ by one at most; maps > 0.
[[nodiscard]] std::vector<Split> NumberSplits(std::uint32_t maps, std::uint64_t records);

}  // namespace millrace::master
