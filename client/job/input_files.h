// SPDX-License-Identifier: Apache-2.0
// InputFiles are the files that a job's input names, either in the file system of a cluster
// (client/process/dfs_source.h) or, for a job that runs in one process, on this machine (client/solo/local_input.h).
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/format/byte_source.h"
#include "client/job/input_file.h"

namespace millrace {

class InputFiles {
 public:
  virtual ~InputFiles() = default;
  // Returns the files that maps would read: the file, the files below the directory, or those that match the pattern,
  // without names that begin with '_' or '.'. They are in order of names in each directory. Returns kNotFound if there
  // is nothing of that name.
  [[nodiscard]] virtual Result<std::vector<InputFile>> List(const std::string& input) = 0;
  // Returns the file's bytes as they are stored. Requires: this object outlives the returned source.
  [[nodiscard]] virtual Result<std::unique_ptr<ByteSource>> Open(const InputFile& file) = 0;
  // Maps the file as it lies on this machine. Returns kNotFound if the machine does not have the file in one piece.
  [[nodiscard]] virtual Result<MappedFile> Map(const InputFile& file) = 0;
};

}  // namespace millrace
