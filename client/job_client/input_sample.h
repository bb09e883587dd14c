// The beginning of a job's input, by which the master tells its type (schedulers/history/input_type.h): the type is one
// half of the key under which the history of programs is kept. Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "dfs/client/dfs_client.h"

namespace millrace::job {

inline constexpr std::size_t kSampleBytes = 16 << 10;  // the most that the master looks at

// Returns at most kSampleBytes from the beginning of the first file, in order of names, that the inputs name and that
// is not empty. Returns nothing when no file can be read: a job runs without a sample.
[[nodiscard]] std::string SampleInput(dfs::DfsClient& files, const std::vector<std::string>& inputs);

}  // namespace millrace::job
