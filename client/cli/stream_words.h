// SPDX-License-Identifier: Apache-2.0
// The words of Hadoop Streaming, made into a job of Millrace's. Pure: what they mean, not whether files exist.
// Thread rule: values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/cli/run_command.h"

namespace millrace::cli {

// What `millrace stream` was given, as it was given.
struct StreamWords {
  std::string mapper = {}, reducer = {}, combiner = {};
  std::string input_format = {}, output_format = {}, partitioner = {}, io = {};
  std::vector<std::string> files = {}, archives = {};          // LOCAL[#NAME], several with commas between them
  std::vector<std::string> environment = {}, parameters = {};  // NAME=VALUE
  std::string reduces = {};                                    // -numReduceTasks
};

// A file of this machine that goes with the job, at `name` in the directory in which the commands start.
struct ShippedFile {
  std::string local, name;
};

// What they mean.
struct StreamJob {
  std::vector<std::pair<std::string, std::string>> options;  // of the program `streaming`
  std::string input_form;                                    // options.h: kInputForm
  std::vector<ShippedFile> files, archives;                  // an archive is unpacked into the directory `name`
  std::vector<std::string> notes;                            // what was given and has no effect, a sentence each
};

// Translates the words. Names of Hadoop's that stand for options of `run` (mapreduce.job.name) are put into *run where
// it has none; names of streaming's own, old ones included, become its options; names of Hadoop's that change nothing
// here are noted; all others go to the environment of the commands, as Hadoop has it. Returns kInvalid for words that
// mean nothing, and kUnsupported, with what to do, for those that mean what Millrace does not have.
[[nodiscard]] Result<StreamJob> TranslateStream(const StreamWords& words, RunOptions* run);

// Returns the relative names of files that the command may mean by its first two words: a script, or that of an
// interpreter ("python3 SCRIPT"). A word without a '.' or a '/' means none.
[[nodiscard]] std::vector<std::string> FilesNamedBy(const std::string& command);

}  // namespace millrace::cli
