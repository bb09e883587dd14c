// SPDX-License-Identifier: Apache-2.0
// The command that runs a job of lines with Hadoop Streaming, on YARN and on EMR.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace millrace::exported {

// A job for Hadoop Streaming, whose records are carried as record_lines.h says.
struct HadoopJob {
  std::string name;
  std::vector<std::string> archives = {}, environment = {};  // as -archives takes them; NAME=VALUE
  std::vector<std::string> ships;  // files that go to every task, as -files takes them: LOCATION[#NAME]
  std::string mapper, reducer;     // commands; there is no reducer without reduces
  std::string combiner = {};       // none if empty
  std::vector<std::string> inputs;
  std::string output;
  std::uint32_t reduces = 1;
};

// Returns the words after `mapred streaming`. Each input is cut into lines at \n alone, and the lines of the output are
// written as they are: Hadoop would take a CR for the end of a line, and write a TAB behind a line that has none.
[[nodiscard]] std::vector<std::string> StreamingWords(const HadoopJob& job);

// Returns the word as a POSIX shell reads it: as it is, or in quotes.
[[nodiscard]] std::string ShellWord(const std::string& word);
// Returns the words as a command of a POSIX shell, an option with its value on each line.
[[nodiscard]] std::string ShellCommand(const std::string& program, const std::vector<std::string>& words);

// Returns the commands that put the files `uploads` (LOCAL, its URL on S3) there and add the job as a step to the EMR
// cluster of $CLUSTER_ID.
[[nodiscard]] std::string EmrCommands(const HadoopJob& job,
                                      const std::vector<std::pair<std::string, std::string>>& uploads);

}  // namespace millrace::exported
