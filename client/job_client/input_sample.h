// The beginning of a job's input, by which the master recognises the input's type (schedulers/history/input_type.h).
// The type is one half of the key under which the history of programs is kept. Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "dfs/client/dfs_client.h"

namespace millrace::job {

inline constexpr std::size_t kSampleBytes = 16 << 10;  // the most that the master looks at

// Returns the first bytes, at most kSampleBytes, of the first input file that can be read and is not empty. The inputs
// are searched in the order given, and the files within each in order of names. Returns an empty text if there is no
// such file, since a job can run without a sample.
[[nodiscard]] std::string SampleInput(dfs::DfsClient& files, const std::vector<std::string>& inputs);

}  // namespace millrace::job
