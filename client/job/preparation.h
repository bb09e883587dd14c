// SPDX-License-Identifier: Apache-2.0
// Preparation is the argument of a job's Prepare, which runs before the job is submitted, on the machine from which it
// is submitted. Prepare may look at the input and set options, which the tasks then find:
//   static millrace::Status Prepare(millrace::Preparation& job) {
//     MILLRACE_ASSIGN(const auto files, job.Inputs());
//     ... job.Read(files[0], 0, 1000) ...
//     return job.Set("myjob.first", first);
//   }
// The input lies in the file system of a cluster, or on this machine if the job runs in one process.
// Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job/input_files.h"
#include "client/job/job_options.h"

namespace millrace {

class Preparation {
 public:
  // Requires: all arguments outlive this. `options` holds the options that were given; Set adds to them.
  Preparation(InputFiles& files, std::vector<std::string> inputs, std::uint32_t reduces, JobOptions& options)
      : files_(files), inputs_(std::move(inputs)), reduces_(reduces), options_(options) {}

  [[nodiscard]] const JobOptions& options() const { return options_; }
  [[nodiscard]] std::uint32_t reduces() const { return reduces_; }
  // Returns the files that the job will read, in the order of its maps.
  [[nodiscard]] Result<std::vector<InputFile>> Inputs();
  // Returns `size` bytes from `offset`, as they are stored; fewer only at the end of the file.
  [[nodiscard]] Result<std::string> Read(const InputFile& file, std::uint64_t offset, std::uint64_t size);
  // Sets an option of the job, as -D name=value does. All options together may have some 100 KB at most, since they go
  // to every task.
  Status Set(const std::string& name, const std::string& value);

  // The rest is for the runtime. parameters() are the options that Set was given.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<std::string>& inputs() const { return inputs_; }
  [[nodiscard]] InputFiles& files() { return files_; }

 private:
  InputFiles& files_;
  std::vector<std::string> inputs_;
  std::uint32_t reduces_;
  JobOptions& options_;
  std::string read_path_;               // of the file that was read last
  std::unique_ptr<ByteSource> reader_;  // of its bytes
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace millrace
