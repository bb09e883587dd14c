// SPDX-License-Identifier: Apache-2.0
// EncodeRecords returns the bytes of a segment that contains `records`, in their order (worker/task/run/run_file.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace millrace::run {

using Record = std::pair<std::string, std::string>;

inline std::string EncodeRecords(const std::vector<Record>& records) {
  Encoder out;
  for (const auto& [key, value] : records) {
    out.Varint(key.size());
    out.Varint(value.size());
    out.Raw(key.data(), key.size());
    out.Raw(value.data(), value.size());
  }
  return out.Take();
}

}  // namespace millrace::run
