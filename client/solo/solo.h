// SPDX-License-Identifier: Apache-2.0
// Runs a whole job in one process, on its main thread, over files of this machine, without a cluster: for debuggers,
// profilers, valgrind and sanitizers. The process has the job's own code and the runtime's collectors, runs and merges,
// but nothing that lies between processes: no file system, shuffle, attempts or failures of attempts.
//
//   JOB --millrace-solo OUTPUT REDUCES [NAME=VALUE...] [--file=LOCAL=PATH...] -- [INPUT...]
//
// Maps run one after the other, then the reduces. The output directory appears as a whole at the end, with the same
// files and bytes as on a cluster that cuts the input alike. The job prints to the outputs of the process. A Prepare
// finds the input as local files.
// Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"

namespace millrace::solo {

struct SoloRun {
  std::string output;
  std::uint32_t reduces = 0;
  std::vector<std::string> parameters;                     // name=value
  std::vector<std::pair<std::string, std::string>> files;  // side files: the path given to ReadFile, and the local file
  std::vector<std::string> inputs;
  std::uint64_t split_length = std::uint64_t{64} << 20;  // bytes of a map's input, where it may be cut
};

// Reads the words after --millrace-solo. Returns kInvalid, with the reason, if they are wrong.
[[nodiscard]] Result<SoloRun> ParseSoloRun(const std::vector<std::string>& words);

// Runs the job. Returns its counters, summed over its tasks. A failure names the task, and leaves no output.
[[nodiscard]] Result<std::vector<CounterValue>> RunSolo(const JobBinding& binding, const std::string& name,
                                                        const SoloRun& run);

using RawRecord = std::pair<std::string, std::string>;  // the bytes of a key and of a value

// For a job's tests: the records that the maps leave for the reduces, in order of keys; those of one key are in order
// of maps.
struct SoloMaps {
  std::vector<RawRecord> records;
  std::vector<CounterValue> counters;
};

// Runs the job's maps alone, for one reduce, whatever number the run has. Returns kInvalid if the job emits nothing for
// reduces.
[[nodiscard]] Result<SoloMaps> RunSoloMaps(const JobBinding& binding, const std::string& name, SoloRun run);

// Runs one reduce over these records, which need not be sorted, and leaves its output. There is no input, so no
// Prepare.
[[nodiscard]] Result<std::vector<CounterValue>> RunSoloReduce(const JobBinding& binding, const std::string& name,
                                                              SoloRun run, const std::vector<RawRecord>& records);

}  // namespace millrace::solo
