// SPDX-License-Identifier: Apache-2.0
// Sorts records of 100 bytes by their first 10. The files part-r-00000, part-r-00001, ..., one after the other, are in
// order.
#pragma once

#include <string_view>

#include "client/api/job.h"
#include "examples/tera/tera_record.h"

namespace millrace::examples {

struct TeraSort {
  using Input = FixedRecords<kTeraRecordBytes>;
  using Output = FixedOutput<kTeraRecordBytes>;
  using Key = std::string_view;
  using Value = std::string_view;
  using Partition = TotalOrder;

  static Status Prepare(Preparation& job) {
    return job.reduces() > 0 ? Status::Ok() : Invalid("sorting needs reduces; give --reducers N");
  }

  void Map(std::string_view record, auto& emit) { emit(record.substr(0, kTeraKeyBytes), record.substr(kTeraKeyBytes)); }
};

}  // namespace millrace::examples
