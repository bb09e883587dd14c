// SPDX-License-Identifier: Apache-2.0
// Tries a job that was made for Hadoop Streaming on a sample of its input: the same output, byte by byte, as the job's
// own is what has to come out.
//
// The sample is carried as Hadoop would: a mapper for each file, then KeyFieldBasedPartitioner's rule and the order of
// Text, then the reducers. Values of a key come in another order than Millrace gives them, as they may under Hadoop, so
// that a job whose output depends on that order is found out. With a Hadoop at hand, that runs the job instead.
// Thread rule: the main thread; it starts programs and waits for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/export/hadoop.h"

namespace millrace::exported {

struct Check {
  HadoopJob job;                                       // as it is exported; its inputs and output are not used
  std::vector<std::string> samples;                    // a file or directory of this machine for each input
  std::vector<std::string> own;                        // the words that run the job itself, up to the output
  std::vector<std::string> own_after = {};             // and those after the output, up to the inputs
  std::string hadoop_home = {};                        // where bin/mapred is; empty: without Hadoop
  std::uint64_t most_bytes = std::uint64_t{16} << 20;  // of the sample
};

struct Checked {
  std::size_t files = 0, parts = 0;
  std::uint64_t bytes = 0, lines = 0;  // of the sample, and of the output
};

// Returns what was compared. Returns kInvalid, with the first difference, if the outputs differ, and the failure of a
// program that could not do its part.
[[nodiscard]] Result<Checked> CheckExport(const Check& check);

}  // namespace millrace::exported
