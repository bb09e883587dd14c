// SPDX-License-Identifier: Apache-2.0
// The description that a job's executable gives of itself before the job is submitted (client/process/describe.h prints
// it). Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/protocol/job_values.h"
#include "base/status.h"
#include "client/job_client/subprocess.h"

namespace millrace::job {

// The rules for cutting an input, and the kind of its files.
struct DescribedInput : InputCut {
  bool text = false;  // if compressed files are opened: files known not to be text are refused
  bool operator==(const DescribedInput&) const = default;
};

struct JobDescription {
  std::string name;
  SplitBy split_by = SplitBy::kBlock;
  std::uint32_t record_bytes = 0;            // of fixed records
  std::uint32_t maps = 0;                    // with numbers: the maps, which make the data; the job reads no input
  std::uint64_t records = 0;                 // with numbers: the records of all maps together
  bool decompresses = false;                 // compressed files are opened, each by one map
  bool text = false;                         // if they are opened: files known not to be text are refused
  std::vector<DescribedInput> mappers = {};  // one for each INPUT, if the job has mappers
  bool map_only = false;                     // the job emits nothing for reduces
  bool prepares = false;                     // see PrepareJob
  bool pipeline = false;  // not a job, but a program that drives jobs (client/process/run_pipeline.h)
  // Why other engines cannot run it; empty if they can (client/export), and not set for a job that is older.
  std::optional<std::string> not_in_lines = {};
};

// Makes a pair from "name=value". Returns kInvalid if the name or the equals sign is missing.
[[nodiscard]] Result<std::pair<std::string, std::string>> ParseParameter(std::string_view text);

// Runs `executable --millrace-describe -- name=value...` and reads its one line of JSON. Returns kInvalid if the
// executable is not a job, or if it refuses a parameter; the message is then the line that it printed.
[[nodiscard]] Result<JobDescription> DescribeJob(const std::string& executable, const Parameters& parameters,
                                                 const CaptureLimits& limits);

// An option that -D may set, in words.
struct JobOption {
  std::string name, type, default_text, range, help;
  bool required = false, of_engine = false;  // of_engine: every job has it
};

// Runs `executable --millrace-describe` and returns the options that it lists: those of the engine and the job's own.
[[nodiscard]] Result<std::vector<JobOption>> OptionsOfJob(const std::string& executable, const CaptureLimits& limits);

// Returns how an INPUT may be cut: as its mapper says, if the job has mappers. Requires: if it has mappers, there is
// one for this INPUT.
[[nodiscard]] DescribedInput CutOf(const JobDescription& job, std::size_t input);

// Returns the options in the line of a description. Returns kInvalid, naming the executable, if an option lacks a
// field.
[[nodiscard]] Result<std::vector<JobOption>> ParseOptions(const std::string& executable, std::string_view line);

// Returns the description in the line. Returns kInvalid, naming the executable, if the line is not a description.
[[nodiscard]] Result<JobDescription> ParseDescription(const std::string& executable, std::string_view line);

// The cluster whose files a job looks at, the address of its master, and how long to wait for the master (a time, as
// "30s").
struct LookedAt {
  std::string master, cluster, wait;
};
// Runs `executable --millrace-prepare master cluster wait reduces name=value... -- input...`, so that the job looks at
// its input. Returns the parameters that the job sets. Returns kInvalid, with the line that the job printed, if the job
// cannot prepare itself.
[[nodiscard]] Result<Parameters> PrepareJob(const std::string& executable, const LookedAt& where, std::uint32_t reduces,
                                            const Parameters& parameters, const std::vector<std::string>& inputs,
                                            const CaptureLimits& limits);

// Returns the parameters in the line that a job prints when it has prepared itself. Returns kInvalid, naming the
// executable, for any other line.
[[nodiscard]] Result<Parameters> ParsePrepared(const std::string& executable, std::string_view line);

}  // namespace millrace::job
