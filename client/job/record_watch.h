// SPDX-License-Identifier: Apache-2.0
// RecordWatch serves a map of a job that may leave out bad records. It notes the record that is being mapped in a file,
// from which the worker reads it if the process dies. It also knows the records to leave out.
// Thread rule: the task's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "worker/task/channel/record_note.h"

namespace millrace {

class RecordWatch {
 public:
  // Makes a watch whose notes go to a new file at `path`.
  [[nodiscard]] static Result<RecordWatch> Make(const std::string& path, std::vector<task::RecordPlace> left_out) {
    MILLRACE_ASSIGN(task::RecordNote note, task::RecordNote::Create(path));
    std::sort(left_out.begin(), left_out.end());
    return RecordWatch(std::move(note), std::move(left_out));
  }

  void BeginInput(std::uint32_t input) {
    place_ = {input, 0, 0};
    first_ = true;
  }
  // Begins the record at `offset`. Returns false if the record is to be left out; else it is noted until End.
  [[nodiscard]] bool Begin(std::uint64_t offset) {
    place_.nth = !std::exchange(first_, false) && offset == place_.offset ? place_.nth + 1 : 0;
    place_.offset = offset;
    if (!left_out_.empty() && std::binary_search(left_out_.begin(), left_out_.end(), place_)) return false;
    note_.Set(place_);
    return true;
  }
  void End() { note_.Clear(); }

 private:
  RecordWatch(task::RecordNote note, std::vector<task::RecordPlace> left_out)
      : note_(std::move(note)), left_out_(std::move(left_out)) {}

  task::RecordNote note_;
  std::vector<task::RecordPlace> left_out_;  // sorted
  task::RecordPlace place_;                  // the last record's
  bool first_ = true;                        // the next record is the first of its input
};

}  // namespace millrace
