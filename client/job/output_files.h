// SPDX-License-Identifier: Apache-2.0
// OutputFiles holds the files that an attempt writes: its part file, and one for each of the job's named outputs to
// which it writes something. They appear together when the attempt commits.
// Thread rule: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids/ids.h"
#include "base/status.h"
#include "client/format/output_file.h"
#include "client/job/task_context.h"

namespace millrace {

class OutputFiles {
 public:
  // Makes the file of a name such as "part-r-00003". Called once for a name.
  using Make = std::function<std::unique_ptr<OutputFile>(const std::string& name)>;
  OutputFiles(const TaskId& task, Make make);

  // Makes `records` change with each record that is written to a file. Requires: `records` outlives this, and no named
  // output has been made yet.
  void CountIn(std::atomic<std::uint64_t>& records);

  [[nodiscard]] OutputFile& part() { return *part_; }
  // Returns the file of a named output; the first call makes it. The reference is valid as long as this object lives.
  OutputFile& Named(std::string_view output);

  // Returns the first failure of a file.
  [[nodiscard]] Status status() const;
  // Finishes all files, those of named outputs first. Requires: nothing is written afterwards.
  Status Finish();
  // Sets the counters of the output: output_records and output_bytes of all files together, and, for each named output,
  // its records in the group "outputs". Requires: Finish returned OK.
  void Count(TaskContext& context) const;

 private:
  const TaskId task_;
  const Make make_;
  const std::unique_ptr<OutputFile> part_;
  std::atomic<std::uint64_t>* counted_ = nullptr;                          // null: records are not counted
  std::map<std::string, std::unique_ptr<OutputFile>, std::less<>> named_;  // by output
};

}  // namespace millrace
