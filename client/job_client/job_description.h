// What a job's executable says of itself before it is submitted (client/process/describe.h prints it). Thread rule: any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job_client/subprocess.h"

namespace millrace::job {

using Parameters = std::vector<std::pair<std::string, std::string>>;

enum class SplitBy { kBlock, kFile, kFixedRecords, kNumbers };

struct JobDescription {
  std::string name;
  SplitBy split_by = SplitBy::kBlock;
  std::uint32_t record_bytes = 0;  // of fixed records
  std::uint32_t maps = 0;          // of numbers: the job reads no input, its maps make the data
  std::uint64_t records = 0;       // likewise, of all maps together
  bool map_only = false;           // it has nothing for reduces
  bool prepares = false;           // see PrepareJob
};

// "name=value" to a pair; kInvalid without a name or an equals sign.
[[nodiscard]] Result<std::pair<std::string, std::string>> ParseParameter(std::string_view text);

// Runs `executable --millrace-describe -- name=value...` and reads its one line of JSON. kInvalid when it is no job, or
// when it refuses a parameter: then the message is the line that it printed.
[[nodiscard]] Result<JobDescription> DescribeJob(const std::string& executable, const Parameters& parameters,
                                                 const CaptureLimits& limits);

// What a description says; kInvalid, naming the executable, for what is none.
[[nodiscard]] Result<JobDescription> ParseDescription(const std::string& executable, std::string_view line);

// Whose files a job looks at: the cluster, where its master is, and how long it is waited for (a time, as "30s").
struct LookedAt {
  std::string master, cluster, wait;
};
// Runs `executable --millrace-prepare master cluster wait reduces name=value... -- input...`: the job looks at its
// input. Gives the parameters that it sets. kInvalid with the line that it printed when it cannot.
[[nodiscard]] Result<Parameters> PrepareJob(const std::string& executable, const LookedAt& where, std::uint32_t reduces,
                                            const Parameters& parameters, const std::vector<std::string>& inputs,
                                            const CaptureLimits& limits);

// The parameters in the line that a job prints when it has prepared itself; kInvalid, naming the executable.
[[nodiscard]] Result<Parameters> ParsePrepared(const std::string& executable, std::string_view line);

}  // namespace millrace::job
